import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from panfocus.errors import FileError, InputError
from panfocus.io.dictionary_file import read_dictionary_file, write_dictionary_file
from rejections import rejected

HEADER = {
    "patch_size": 3,
    "n_levels": 2,
    "n_atoms": 5,
    "settings": {"rounds": 4},
    "seed": 0,
    "origin": "a test",
}


@pytest.fixture
def levels(rng):
    atoms = rng.normal(size=(2, 9, 5)).astype(np.float32)
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "dictionary.npz"


def save(path, levels, header=None, **more):
    """Write what `write_dictionary_file` would not."""
    text = json.dumps({"format_version": 1, **HEADER, **(header or {})})
    np.savez(path, levels=levels, header=np.frombuffer(text.encode(), np.uint8), **more)


def test_dictionary_survives_writing_and_reading(path, levels):
    write_dictionary_file(path, levels, HEADER)
    read, header = read_dictionary_file(path)
    np.testing.assert_array_equal(read, levels)
    assert header == {"format_version": 1, **HEADER}


def test_one_level_is_written_and_read(path, levels):
    write_dictionary_file(path, levels[:1], HEADER | {"n_levels": 1})
    np.testing.assert_array_equal(read_dictionary_file(path)[0], levels[:1])


def test_numpy_itself_reads_the_file(path, levels):
    write_dictionary_file(path, levels, HEADER)
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["levels"], levels)
        assert json.loads(arrays["header"].tobytes())["origin"] == "a test"


def test_files_written_by_numpy_are_read(path, levels):
    save(path, np.asfortranarray(levels))
    np.testing.assert_array_equal(read_dictionary_file(path)[0], levels)


def test_equal_content_gives_equal_bytes(tmp_path, levels):
    write_dictionary_file(tmp_path / "a.npz", levels, HEADER)
    write_dictionary_file(tmp_path / "b.npz", levels.copy(), dict(reversed(HEADER.items())))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_other_suffixes_and_existing_files_are_rejected(tmp_path, path, levels):
    with rejected(tmp_path / "dictionary.pickle", InputError, needed=(".npz",)):
        write_dictionary_file(tmp_path / "dictionary.pickle", levels, HEADER)
    write_dictionary_file(path, levels, HEADER)
    with rejected(path, problem="exists"):
        write_dictionary_file(path, levels, HEADER)
    write_dictionary_file(path, levels, HEADER, force=True)


def assert_rejected(path, **facts):
    with rejected(path, **facts):
        read_dictionary_file(path)


def test_a_missing_file_and_a_text_are_rejected(path):
    assert_rejected(path, problem="No such file or directory")
    path.write_text("no dictionary")
    assert_rejected(path, problem="damaged")


def test_truncated_dictionary_is_rejected(path, levels):
    write_dictionary_file(path, levels, HEADER)
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        assert_rejected(path, problem="damaged")


def test_a_file_with_a_flipped_byte_is_rejected_or_equal(path, levels):
    write_dictionary_file(path, levels, HEADER)
    data = path.read_bytes()
    for position in range(0, len(data), 11):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :])
        try:
            read, _ = read_dictionary_file(path)
        except FileError:
            continue
        np.testing.assert_array_equal(read, levels)


def test_other_members_are_rejected(path, levels):
    np.savez(path, atoms=levels)
    assert_rejected(path, problem="members")
    save(path, levels, extra=levels)
    assert_rejected(path, problem="members")


def test_a_pickle_is_rejected_and_not_run(path, levels, tmp_path):
    class Hostile:
        def __reduce__(self):
            return (open, (str(tmp_path / "it-ran"), "w"))

    save(path, np.array([Hostile()], dtype=object))
    assert_rejected(path, problem="pickle")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("levels.npy", pickle.dumps(Hostile()))
        archive.writestr("header.npy", pickle.dumps({}))
    assert_rejected(path, problem="damaged")
    assert not (tmp_path / "it-ran").exists()


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        (lambda levels: levels.astype(np.float64), {"got": "float64 (2, 9, 5)"}),
        (lambda levels: levels[0], {"got": "float32 (9, 5)"}),
        (lambda levels: levels[:, :, :4], {"got": "float32 (2, 9, 4)"}),
        (lambda levels: levels * np.nan, {"problem": "not finite"}),
        (lambda levels: levels * np.float32(1.01), {"problem": "norm"}),
        (lambda levels: levels * (np.arange(5, dtype=np.float32) > 0), {"problem": "norm"}),
    ],
)
def test_wrong_atoms_are_rejected(path, levels, change, facts):
    save(path, change(levels))
    assert_rejected(path, **facts)


@pytest.mark.parametrize(
    ("header", "facts"),
    [
        ({"format_version": 2}, {"got": 2}),
        *(({"format_version": version}, {"key": "format_version"}) for version in ("1", True, 0, -5)),
        *(({"n_atoms": number}, {"key": "n_atoms"}) for number in (None, True)),
        ({"patch_size": 3.0}, {"key": "patch_size"}),
        ({"origin": None}, {"key": "origin"}),
        ({"settings": []}, {"key": "settings"}),
        ({"seed": "0"}, {"key": "seed"}),
        ({"n_atoms": 6}, {"needed": "float32 (2, 9, 6)"}),
        ({"n_levels": 1}, {"needed": "float32 (1, 9, 5)"}),
        ({"n_levels": 0}, {"got": 0}),
    ],
    ids=str,
)
def test_wrong_headers_are_rejected(path, levels, header, facts):
    save(path, levels, header)
    assert_rejected(path, **facts)


def test_a_header_without_a_name_is_rejected(path, levels):
    header = {"format_version": 1, **HEADER}
    del header["seed"]
    np.savez(path, levels=levels, header=np.frombuffer(json.dumps(header).encode(), np.uint8))
    assert_rejected(path, key="seed")


def test_too_many_atoms_are_rejected(path):
    atoms = np.zeros((2, 4, 4097), np.float32)
    atoms[:, 0] = 1
    save(path, atoms, {"patch_size": 2, "n_atoms": 4097})
    assert_rejected(path, got=2 * 4097)
    with pytest.raises(InputError) as caught:
        write_dictionary_file(path, atoms, HEADER, force=True)
    assert caught.value.facts["got"] == 2 * 4097


def test_origin_with_invalid_unicode_is_preserved(path, levels):
    write_dictionary_file(path, levels, HEADER | {"origin": "\udcff.jpg"})
    assert read_dictionary_file(path)[1]["origin"] == "\udcff.jpg"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo")
def test_a_pipe_is_rejected_and_not_waited_for(path):
    os.mkfifo(path)
    assert_rejected(path, problem="pipe")


def test_header_that_is_not_json_is_rejected(path, levels):
    np.savez(path, levels=levels, header=np.frombuffer(b"{", np.uint8))
    assert_rejected(path, problem="damaged")


def test_a_decompression_bomb_is_rejected_before_it_is_unpacked(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("levels.npy", bytes(65 << 20))
        archive.writestr("header.npy", b"")
    assert path.stat().st_size < 1 << 20
    assert_rejected(path, limit=64 << 20)


def test_shape_larger_than_the_data_is_rejected(path, levels):
    save(path, levels)
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(buffer, "w") as copy:
        for name in source.namelist():
            copy.writestr(name, source.read(name).replace(b"(2, 9, 5)", b"(999999,)"))
    path.write_bytes(buffer.getvalue())
    assert_rejected(path, problem="damaged")
