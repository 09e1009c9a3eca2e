"""Arrays on disk, compared with arrays in memory."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panfocus.errors import InputError
from panfocus.io.disk_array import ArrayFolder
from rejections import rejected

SHAPES = [(7,), (6, 9), (5, 8, 3), (4, 6, 5), (3, 5, 7, 2)]
FULL = Path("/dev/full")
DTYPES = [np.uint8, np.uint16, np.float32, np.bool_]


@st.composite
def places(draw, shape):
    """Draw what an array of a shape is indexed by: numbers, slices, or fewer than it has axes."""
    keys = []
    for length in shape[: draw(st.integers(0, len(shape)))]:
        number = st.integers(-length, length - 1)
        edge = st.none() | st.integers(-length - 2, length + 2)
        keys.append(draw(number | st.builds(slice, edge, edge)))
    if len(keys) < len(shape) and draw(st.booleans()):
        keys.insert(draw(st.integers(0, len(keys))), Ellipsis)
        if draw(st.booleans()):  # of the last axes: these keys have to fit them
            keys = [Ellipsis, draw(st.integers(-shape[-1], shape[-1] - 1))]
    return tuple(keys)


@st.composite
def cases(draw):
    shape = draw(st.sampled_from(SHAPES))
    dtype = draw(st.sampled_from(DTYPES))
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 200, shape).astype(dtype)
    return values, draw(places(shape))


def _fits(values, place):
    try:
        return values[place]
    except IndexError:  # a number for one axis that an Ellipsis has moved to another
        return None


@settings(max_examples=80, deadline=None)
@given(cases())
def test_parts_are_read_and_written_as_in_memory(tmp_path_factory, case):
    values, place = case
    expected = _fits(values, place)
    if expected is None:
        return
    kept = ArrayFolder(tmp_path_factory.mktemp("kept"))
    with kept.create("one", values.shape, values.dtype) as array:
        array[...] = values
    with kept.array("one") as array:
        assert array.shape == values.shape and array.dtype == values.dtype and len(array) == len(values)
        np.testing.assert_array_equal(array[place], expected)
        assert array[place].shape == expected.shape
    changed = values.copy()
    changed[place] = 1
    with kept.array("one", change=True) as array:
        array[place] = 1
        np.testing.assert_array_equal(array[:], changed)
    np.testing.assert_array_equal(np.load(kept.folder / "one.npy"), changed)  # NumPy reads it too


def test_parts_that_are_never_written_are_zero(tmp_path):
    kept = ArrayFolder(tmp_path / "new")
    with kept.create("frames", (2, 3, 4), np.uint16) as array:
        array[1, 0:2, 1:3] = [[1, 2], [3, 4]]
    expected = np.zeros((2, 3, 4), np.uint16)
    expected[1, 0:2, 1:3] = [[1, 2], [3, 4]]
    with kept.array("frames") as array:
        np.testing.assert_array_equal(array[:], expected)


def test_array_appears_when_it_is_complete(tmp_path):
    kept = ArrayFolder(tmp_path)
    with kept.create("fused", (2, 2), np.uint8) as array:
        array[...] = 1
        assert "fused" not in kept
    assert "fused" in kept
    with pytest.raises(ZeroDivisionError), kept.create("fused", (3, 3), np.uint8) as array:
        array[...] = 2
        raise ZeroDivisionError
    with kept.array("fused") as array:
        np.testing.assert_array_equal(array[:], np.ones((2, 2), np.uint8))
    with pytest.raises(OSError) as caught, kept.create("fused", (3, 3), np.uint8):
        raise OSError
    assert type(caught.value) is OSError  # not reported as an error of writing
    assert [path.name for path in tmp_path.iterdir()] == ["fused.npy"]


def test_open_array_is_unchanged_when_it_is_replaced(tmp_path):
    kept = ArrayFolder(tmp_path)
    for value in (1, 2):
        with kept.create("fused", (2,), np.uint8) as array:
            array[...] = value
        if value == 1:
            old = kept.array("fused")
    assert list(old[:]) == [1, 1]
    old.close()


@pytest.mark.parametrize("system", ["this one", "without preadv"])
def test_threads_read_one_array_at_once(tmp_path, monkeypatch, system):
    if system != "this one":
        monkeypatch.delattr(os, "preadv", raising=False)
    values = np.arange(200 * 300).reshape(200, 300).astype(np.uint16)
    kept = ArrayFolder(tmp_path)
    with kept.create("plane", values.shape, values.dtype) as array:
        array[...] = values
    wrong = []

    def read(first: int) -> None:
        wrong.extend(
            row
            for row in range(first, 190, 7)
            if not np.array_equal(array[row : row + 9, 3:250], values[row : row + 9, 3:250])
        )

    with kept.array("plane") as array:
        threads = [threading.Thread(target=read, args=(first,)) for first in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="no preadv")
def test_partial_reads_of_the_system_are_completed(tmp_path, monkeypatch):
    """As Linux does beyond 2 GiB, which no test is to write."""
    values = np.arange(30 * 40).reshape(30, 40).astype(np.uint16)
    kept = ArrayFolder(tmp_path)
    with kept.create("plane", values.shape, values.dtype) as array:
        array[...] = values
    whole = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, parts, at: whole(file, [parts[0][:777]], at))
    with kept.array("plane") as array:
        np.testing.assert_array_equal(array[...], values)
        os.truncate(tmp_path / "plane.npy", 1000)
        with rejected(tmp_path / "plane.npy", problem="truncated"):
            array[...]


@pytest.mark.parametrize("name", ["", ".", "..", "../out", "a/b", ".hidden", "a\0b", "ä"])
def test_names_stay_in_the_folder(tmp_path, name):
    kept = ArrayFolder(tmp_path / "arrays")
    assert name not in kept
    with pytest.raises(InputError):
        kept.array(name)
    with pytest.raises(InputError), kept.create(name, (2,), np.uint8):
        pass
    assert not list(tmp_path.iterdir())


def test_a_missing_and_a_damaged_file_are_named_in_one_line(tmp_path):
    kept = ArrayFolder(tmp_path)
    path = tmp_path / "fused.npy"
    with rejected(path, problem="No such file or directory"):
        kept.array("fused")
    path.write_bytes(b"text")
    with rejected(path, problem="damaged"):
        kept.array("fused")
    np.save(path, np.asfortranarray(np.zeros((3, 4))))
    with rejected(path, problem="format"):
        kept.array("fused")
    with kept.create("fused", (100, 100), np.uint8) as array:
        array[...] = 1
    os.truncate(path, 5000)
    with kept.array("fused") as array:
        assert array[10, 10] == 1
        with rejected(path, problem="truncated"):
            array[90:]


def test_an_array_larger_than_the_room_on_disk_is_rejected(tmp_path):
    kept = ArrayFolder(tmp_path)
    with (
        rejected(tmp_path, needed=1 << 50),
        kept.create("big", (1 << 50,), np.uint8),
    ):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
def test_full_disk_raises_and_leaves_no_file(tmp_path):
    kept = ArrayFolder(tmp_path)
    with (
        rejected(tmp_path / "a.npy"),
        kept.create("a", (50_000,), np.uint8) as array,
        FULL.open("wb") as full,
    ):
        os.dup2(full.fileno(), array._file.fileno())
        array[...] = 1
    assert not list(tmp_path.iterdir())
