import hashlib
import io
import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from panfocus.errors import InputError
from panfocus.io.atomic_files import check_destination, check_suffix, is_case_insensitive, write_files
from panfocus.io.encode import (
    IMAGE_SUFFIXES,
    check_format,
    encode_confidence,
    encode_json,
    encode_labels,
    write_image,
)
from panfocus.io.png import add_texts, decode_png, encode_indexed_png, encode_png
from panfocus.io.read_stack import read_image, read_stack
from panfocus.stack import Stack
from rejections import rejected

GREY = np.arange(13 * 17, dtype=np.uint8).reshape(13, 17)
COLOUR = np.stack([GREY, GREY[::-1], GREY.T.reshape(13, 17)], axis=2)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", [".png", ".tif", ".jpg"])
def test_profile_of_the_frames_is_written(tmp_path, suffix):
    paths = [tmp_path / "a.png", tmp_path / f"fused{suffix}"]
    stack = Stack(np.stack([COLOUR, COLOUR]), ("a", "b"), icc_profile=bytes(range(256)) * 300)
    write_image(paths[1], COLOUR, like=stack)
    assert read_stack([paths[1], paths[1]]).icc_profile == stack.icc_profile
    assert Image.open(paths[1]).info["icc_profile"] == stack.icc_profile


def test_profile_of_a_16_bit_png_is_written(tmp_path):
    stack = Stack(np.stack([COLOUR, COLOUR]), ("a", "b"), icc_profile=b"profile")
    write_image(tmp_path / "fused.png", COLOUR.astype(np.uint16) * 257, like=stack)
    assert Image.open(tmp_path / "fused.png").info["icc_profile"] == b"profile"
    np.testing.assert_array_equal(read_image(tmp_path / "fused.png"), COLOUR.astype(np.uint16) * 257)


def test_jpegs_have_full_colour_resolution_and_stay_close(tmp_path):
    smooth = np.linspace(0, 255, 32 * 32 * 3).astype(np.uint8).reshape(32, 32, 3)
    write_image(tmp_path / "fused.jpg", smooth)
    assert Image.open(tmp_path / "fused.jpg").layer[0][1:3] == (1, 1)  # 4:4:4
    assert np.abs(read_image(tmp_path / "fused.jpg").astype(int) - smooth).mean() < 2


@pytest.mark.parametrize("view", [COLOUR[::-1], COLOUR[:, ::-1], COLOUR.swapaxes(0, 1), COLOUR[3:9, 2:8]])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_views_are_written_like_copies(tmp_path, view, suffix):
    write_image(tmp_path / f"fused{suffix}", view)
    np.testing.assert_array_equal(read_image(tmp_path / f"fused{suffix}"), view)


@pytest.mark.parametrize(
    ("name", "image", "facts"),
    [
        ("a.jpg", COLOUR.astype(np.uint16), {"got": "uint16"}),
        ("a.jpg", GREY.astype(np.float32), {"got": "float32"}),
        ("a.jpg", np.dstack([COLOUR, GREY]), {"got": (13, 17, 4)}),
        ("a.jpeg", np.broadcast_to(np.uint8(0), (70_000, 8)), {"got": (70_000, 8)}),
        ("a.webp", COLOUR.astype(np.uint16), {"got": "uint16"}),
        ("a.webp", GREY, {"got": (13, 17)}),
        ("a.webp", np.broadcast_to(np.uint8(0), (17_000, 8, 3)), {"got": (17_000, 8, 3)}),
        ("a.png", GREY.astype(np.float32), {"got": "float32"}),
        ("a.bmp", GREY, {"needed": IMAGE_SUFFIXES}),
        ("a", GREY, {"needed": IMAGE_SUFFIXES}),
    ],
)
def test_format_that_cannot_hold_the_image_is_rejected(tmp_path, name, image, facts):
    with rejected(tmp_path / name, InputError, **facts):
        write_image(tmp_path / name, image)
    assert names_in(tmp_path) == []


def test_formats_that_hold_the_image_pass_the_check(tmp_path):
    check_format(tmp_path / "a.jpg", COLOUR)
    check_format(tmp_path / "a.png", COLOUR.astype(np.uint16))
    check_format(tmp_path / "a.tiff", COLOUR.astype(np.float64))
    check_suffix(tmp_path / "a.PNG", (".png",))


def test_existing_file_is_replaced_only_with_force(tmp_path):
    path = tmp_path / "fused.png"
    path.write_bytes(b"precious")
    with rejected(path, problem="exists"):
        write_image(path, GREY)
    assert path.read_bytes() == b"precious"
    write_image(path, GREY, force=True)
    np.testing.assert_array_equal(read_image(path), GREY)


@pytest.mark.parametrize("has_links", [True, False])
def test_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch, has_links):
    first, second = tmp_path / "first.png", tmp_path / "second.png"
    if not has_links:
        monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError(1, os.strerror(1))))
        write_files({first: b"1", second: b"2"})
        assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")
        return
    with rejected(second, problem="exists"):
        write_files({first: b"1", second: b"2"}, ready=lambda: second.write_bytes(b"precious"))
    assert second.read_bytes() == b"precious"
    assert names_in(tmp_path) == ["second.png"]


def test_an_input_is_never_overwritten(tmp_path):
    frame = tmp_path / "frame.png"
    frame.write_bytes(b"frame")
    (tmp_path / "link.png").symlink_to(frame)
    for path in (frame, tmp_path / "." / "frame.png", tmp_path / "link.png"):
        with rejected(path, problem="input"):
            check_destination(path, force=True, inputs=[frame])


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "link.png").symlink_to(tmp_path / "target.png")
    write_image(tmp_path / "link.png", GREY)
    assert (tmp_path / "link.png").is_symlink()
    np.testing.assert_array_equal(read_image(tmp_path / "target.png"), GREY)


def test_folders_that_cannot_be_written_are_rejected(tmp_path):
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "link.png").symlink_to(tmp_path / "missing" / "target.png")
    for name, problem in (
        ("missing/fused.png", "no folder"),
        ("link.png", "no folder"),
        ("folder.png", "folder"),
    ):
        with rejected(tmp_path / name, problem=problem):
            check_destination(tmp_path / name)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc")
def test_a_folder_without_permission_is_rejected():
    with rejected("/proc/fused.png", problem="No such file or directory"):
        check_destination(Path("/proc/fused.png"))


def test_broken_links_and_long_names_are_rejected(tmp_path):
    (tmp_path / "a.png").symlink_to(tmp_path / "b.png")
    (tmp_path / "b.png").symlink_to(tmp_path / "a.png")
    with rejected(tmp_path / "a.png", problem="link"):
        check_destination(tmp_path / "a.png", force=True)
    path = tmp_path / f"{'x' * 300}.png"
    with rejected(path, problem="File name too long"):
        check_destination(path)


def test_a_folder_that_may_not_be_searched_is_rejected(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)  # the tests may run as an administrator, whom nothing stops
    with rejected(tmp_path / "fused.png", problem="Permission denied"):
        check_destination(tmp_path / "fused.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo")
def test_a_pipe_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    for force in (False, True):
        with rejected(tmp_path / "pipe.png", problem="pipe"):
            write_files({tmp_path / "pipe.png": b"1"}, force=force)


def test_read_only_file_is_never_replaced(tmp_path):
    path = tmp_path / "fused.png"
    path.write_bytes(b"precious")
    path.chmod(0o444)
    with rejected(path, problem="read-only"):
        write_image(path, GREY, force=True)
    assert path.read_bytes() == b"precious"


def test_the_check_leaves_nothing_behind(tmp_path):
    check_destination(tmp_path / "fused.png")
    assert names_in(tmp_path) == []


def test_new_files_have_the_usual_permissions(tmp_path):
    write_image(tmp_path / "fused.png", GREY)
    (tmp_path / "usual").touch()
    assert (tmp_path / "fused.png").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("failure", [OSError(28, os.strerror(28)), KeyboardInterrupt()])
def test_if_one_file_fails_none_appears(tmp_path, monkeypatch, failure):
    first, second = tmp_path / "first.png", tmp_path / "second.png"
    opened = type(first).open

    def open_once(path, *arguments, **options):
        if names_in(tmp_path):
            raise failure
        return opened(path, *arguments, **options)

    monkeypatch.setattr(type(first), "open", open_once)
    is_full = isinstance(failure, OSError)
    expected = rejected(second, problem=os.strerror(28)) if is_full else pytest.raises(KeyboardInterrupt)
    with expected:
        write_files({first: b"1", second: b"2"})
    assert names_in(tmp_path) == []


def test_labels_use_8_bits_while_they_can_count_the_frames(tmp_path):
    for count, dtype in ((255, np.uint8), (256, np.uint16)):
        labels = np.arange(count).reshape(1, -1)
        path = tmp_path / f"{count}.png"
        path.write_bytes(encode_labels(labels, count))
        read = read_image(path)
        assert read.dtype == dtype
        np.testing.assert_array_equal(read, labels)


@pytest.mark.parametrize("channels", [3, 4])
def test_a_map_by_a_table_of_colours_is_decoded_to_them(rng, channels):
    shades = rng.integers(0, 5, (7, 9)).astype(np.uint8)
    table = rng.integers(0, 256, (5, channels)).astype(np.uint8)
    png = encode_indexed_png(shades, table)
    opened = Image.open(io.BytesIO(png))  # checks the sums of the chunks
    assert opened.mode == "P"
    np.testing.assert_array_equal(
        np.asarray(opened.convert("RGB" if channels == 3 else "RGBA")), table[shades]
    )
    np.testing.assert_array_equal(decode_png(png).image, table[shades])


def test_confidence_is_16_bit_in_a_png_and_float_in_a_tiff(tmp_path):
    confidence = np.linspace(0, 1, 13 * 17, dtype=np.float32).reshape(13, 17)
    for name, dtype, white in (("c.png", np.uint16, 65535), ("c.tif", np.float32, 1)):
        write_files({tmp_path / name: encode_confidence(tmp_path / name, confidence)})
        read = read_image(tmp_path / name)
        assert read.dtype == dtype
        np.testing.assert_allclose(read / white, confidence, atol=1e-5)


def test_json_is_readable_text(tmp_path):
    assert json.loads(encode_json({"w": 0.55, "name": "größe"})) == {"w": 0.55, "name": "größe"}
    assert "größe".encode() in encode_json({"name": "größe"})


def test_names_that_are_no_text_survive_json():
    assert json.loads(encode_json({"name": "\udcff.jpg"})) == {"name": "\udcff.jpg"}


def test_equal_images_give_equal_bytes(tmp_path):
    for name in ("a.png", "a.tif", "a.jpg"):
        write_image(tmp_path / name, COLOUR)
        first = (tmp_path / name).read_bytes()
        write_image(tmp_path / name, COLOUR.copy(), force=True)
        assert (tmp_path / name).read_bytes() == first


def test_a_tiff_is_written_without_a_copy_of_its_pixels(tmp_path):
    image = np.zeros((1000, 2000, 3), np.uint8)
    write_image(tmp_path / "small.tif", GREY)  # what is loaded on first use does not count
    tracemalloc.start()
    try:
        write_image(tmp_path / "large.tif", image)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < image.nbytes / 10
    assert (tmp_path / "large.tif").stat().st_size > image.nbytes


def test_file_from_a_function_appears_complete_or_not_at_all(tmp_path):
    def fail(file):
        file.write(b"half")
        raise OSError

    with rejected(tmp_path / "b"):
        write_files({tmp_path / "a": lambda file: file.write(b"a"), tmp_path / "b": fail})
    assert list(tmp_path.iterdir()) == []
    write_files({tmp_path / "a": lambda file: file.write(b"a")})
    assert (tmp_path / "a").read_bytes() == b"a"


def test_callbacks_come_before_files_appear(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    told = []

    def second(file):
        assert told == [(one, hashlib.sha256(b"first").hexdigest(), 5)]
        file.write(b"2")

    def ready():
        assert len(told) == 2
        assert not one.exists()
        assert not two.exists()

    write_files({one: b"first", two: second}, ready=ready, written=lambda *what: told.append(what))
    assert (one.read_bytes(), two.read_bytes()) == (b"first", b"2")


@pytest.mark.parametrize("moment", ["writing", "ready"])
def test_an_interrupt_before_the_first_file_appears_leaves_nothing(tmp_path, moment):
    def interrupt(*_):
        raise KeyboardInterrupt

    contents = {tmp_path / "one": b"1", tmp_path / "two": interrupt if moment == "writing" else b"2"}
    with pytest.raises(KeyboardInterrupt):
        write_files(contents, ready=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_whether_a_disk_tells_names_apart_by_case_is_tried_out(tmp_path):
    assert not is_case_insensitive(tmp_path)  # on Linux
    assert list(tmp_path.iterdir()) == []


def test_texts_in_a_png_do_not_change_pixels(tmp_path, rng):
    pixels = rng.integers(0, 65536, (9, 11)).astype(np.uint16)
    (tmp_path / "a.png").write_bytes(add_texts(encode_png(pixels), {"One": "1", "Two": "b c"}))
    with Image.open(tmp_path / "a.png") as file:
        assert file.text == {"One": "1", "Two": "b c"}
    np.testing.assert_array_equal(decode_png((tmp_path / "a.png").read_bytes()).image, pixels)
