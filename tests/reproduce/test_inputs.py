"""Image files are checked before anything is computed, and a bad file is named."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from panfocus.errors import FileError
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.reproduce.image_sets import read_inputs


@pytest.fixture
def data(small_data, tmp_path):
    """A copy of the small sets."""
    return shutil.copytree(small_data, tmp_path / "data")


def replace_image(path, change):
    """Replace an image by `change(image)`, or add one, as PNG under any name."""
    image = change(read_image(path) if path.exists() else None)
    path.unlink(missing_ok=True)
    write_image(path.with_name("replaced.png"), image)
    path.with_name("replaced.png").rename(path)


def in_colour(image):
    return np.stack([image] * 3, axis=2)


def smaller(image):
    return image[1:]


def of_16_bit(image):
    return image.astype(np.uint16) * 257


def tiny(_):
    return np.zeros((15, 90, 3), np.uint8)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("training/pairs/p2f.png", in_colour),
        ("training/pairs/p2b.png", smaller),
        ("grayscale6/clocks-B.png", in_colour),
        ("grayscale6/disk-A.png", of_16_bit),
        ("grayscale6/lab-ref.png", smaller),
        ("lytro/triple/seals-C.jpg", lambda image: image[..., 0]),
        ("lytro/lytro-03-B.jpg", smaller),
        ("lytro/lytro-04-A.jpg", tiny),
        ("lytro/lytro-05-C.jpg", tiny),  # a third frame of a pair
        ("groundtruth/real-mff/scene-0-GT.png", smaller),
        ("groundtruth/real-mff/scene-0-B.png", smaller),
    ],
)
def test_an_unsuitable_image_is_named(data, name, change):
    replace_image(data / name, change)
    with pytest.raises(FileError) as caught:
        read_inputs(data)
    assert Path(caught.value.facts["file"]) == data / name
    assert "\n" not in str(caught.value)


def test_a_held_out_frame_of_another_size_is_rejected(data):
    """Otherwise its patches would be compared with other positions."""
    replace_image(data / "groundtruth/real-mff/scene-0-A.png", smaller)
    with pytest.raises(FileError) as caught:
        read_inputs(data)
    assert Path(caught.value.facts["file"]).name == "scene-0-B.png"


@pytest.mark.parametrize(
    "name", ["grayscale6/pepsi256-derived-B.png", "lytro/triple/diver-B.jpg", "training/pairs/p5b.png"]
)
def test_a_truncated_file_is_named(data, name):
    (data / name).write_bytes((data / name).read_bytes()[:-200])
    with pytest.raises(FileError) as caught:
        read_inputs(data)
    assert str(data / name) in str(caught.value)


def test_a_held_out_scene_without_reference_is_named(data):
    (data / "groundtruth" / "real-mff" / "scene-1-GT.png").unlink()
    with pytest.raises(FileError) as caught:
        read_inputs(data)
    assert caught.value.facts["scene"] == "scene-1"


@pytest.mark.parametrize(
    ("present", "missing"), [(["A"], "B"), (["B"], "A"), (["ref"], "A"), (["A", "ref"], "B")]
)
def test_an_incomplete_set_is_rejected(data, present, missing):
    for part in present:
        shutil.copy(data / "grayscale6/lab-A.png", data / f"grayscale6/jug-{part}.png")
    with pytest.raises(FileError) as caught:
        read_inputs(data)
    assert caught.value.facts["file"] == data / f"grayscale6/jug-{missing}.png"


def test_a_set_without_a_public_source_needs_no_reference(data):
    for part in "AB":
        shutil.copy(data / f"grayscale6/lab-{part}.png", data / f"grayscale6/jug-{part}.png")
    *_, jug = read_inputs(data).grey
    assert (jug.name, len(jug.frames), jug.reference) == ("Jug", 2, None)


@pytest.mark.parametrize("name", ["lab", "disk"])
def test_public_references_are_needed(data, name):
    (data / f"grayscale6/{name}-ref.png").unlink()
    with pytest.raises(FileError) as caught:
        read_inputs(data)
    assert caught.value.facts["missing"] == (f"grayscale6/{name}-ref.png",)


def test_missing_files_are_counted_and_the_first_are_named(data, message):
    for folder in ("grayscale6", "training", "groundtruth"):
        shutil.rmtree(data / folder)
    with pytest.raises(FileError) as caught:
        read_inputs(data)
    assert len(caught.value.facts["missing"]) == 10 + 10 + 1  # grey sets, crops, the held-out folder
    message("reproduce: missing files", str(caught.value), data=data)
