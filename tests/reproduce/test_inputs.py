"""Every file is looked at before anything is computed; one line names the one that will not do."""

import shutil

import numpy as np
import pytest

from panfocus.errors import FileError
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.reproduce.sets import read_inputs


@pytest.fixture
def data(small_data, tmp_path):
    """The small sets, to be spoiled."""
    return shutil.copytree(small_data, tmp_path / "data")


def spoil(path, change):
    """Write what `change` makes of a picture, or a new picture, as PNG whatever its name says."""
    image = change(read_image(path) if path.exists() else None)
    path.unlink(missing_ok=True)
    write_image(path.with_name("spoiled.png"), image)
    path.with_name("spoiled.png").rename(path)


def in_colour(image):
    return np.stack([image] * 3, axis=2)


def smaller(image):
    return image[1:]


def of_16_bit(image):
    return image.astype(np.uint16) * 257


def tiny(_):
    return np.zeros((15, 90, 3), np.uint8)


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("training/pairs/p2f.png", in_colour, "is not 8-bit grey without alpha"),
        ("training/pairs/p2b.png", smaller, "is 18 x 39 pixels of uint8, .*p2f.png is 18 x 40 pixels"),
        ("grayscale6/clocks-B.png", in_colour, "is not 8-bit grey without alpha"),
        ("grayscale6/disk-A.png", of_16_bit, "is not 8-bit grey without alpha"),
        ("grayscale6/lab-ref.png", smaller, "is 40 x 47 pixels of uint8, .*lab-A.png is 40 x 48 pixels"),
        ("lytro/triple/seals-C.jpg", lambda image: image[..., 0], "is not 8-bit colour without alpha"),
        ("lytro/lytro-03-B.jpg", smaller, "is 40 x 47 pixels of uint8, .*lytro-03-A.jpg is 40 x 48 pixels"),
        ("lytro/lytro-04-A.jpg", tiny, "has a side of less than 16 pixels"),
        ("lytro/lytro-05-C.jpg", tiny, "needed are pairs, -A and -B; remove it"),
        ("groundtruth/real-mff/scene-0-GT.png", smaller, "is 40 x 47 pixels of uint8, .*scene-0-A.png is"),
        ("groundtruth/real-mff/scene-0-B.png", smaller, "is 40 x 47 pixels of uint8, .*scene-0-A.png is"),
    ],
)  # fmt: skip
def test_a_picture_that_will_not_do_is_named(data, name, change, complaint):
    spoil(data / name, change)
    with pytest.raises(FileError, match=rf"^{data / name}:? {complaint}") as caught:
        read_inputs(data)
    assert "\n" not in str(caught.value)


def test_a_held_out_frame_a_smaller_than_the_others_is_refused(data):
    """Its patches would be held against other places of the others."""
    spoil(data / "groundtruth/real-mff/scene-0-A.png", smaller)
    with pytest.raises(
        FileError, match=r"scene-0-B.png is 40 x 48 pixels of uint8, .*scene-0-A.png is 40 x 47"
    ):
        read_inputs(data)


@pytest.mark.parametrize(
    "name",
    [
        "grayscale6/pepsi256-derived-B.png",
        "lytro/triple/diver-B.jpg",
        "lytro/lytro-04-B.jpg",
        "training/pairs/p5b.png",
        "groundtruth/real-mff/scene-1-B.png",
    ],
)
def test_a_file_that_is_cut_off_is_named(data, name):
    (data / name).write_bytes((data / name).read_bytes()[:-200])
    with pytest.raises(FileError, match=rf"^{data / name}: cut off before its end"):
        read_inputs(data)


def test_a_held_out_scene_without_its_truth_is_named(data):
    (data / "groundtruth" / "real-mff" / "scene-1-GT.png").unlink()
    with pytest.raises(FileError, match=r"real-mff: scene-1 has no -GT"):
        read_inputs(data)


@pytest.mark.parametrize(
    ("there", "missing"),
    [(["A"], "B"), (["B"], "A"), (["ref"], "A"), (["A", "ref"], "B")],
)
def test_a_set_of_the_users_that_is_not_whole_is_not_passed_over(data, there, missing):
    for part in there:
        shutil.copy(data / "grayscale6/lab-A.png", data / f"grayscale6/jug-{part}.png")
    with pytest.raises(FileError, match=rf"jug-{there[0]}.png is there without jug-{missing}.png"):
        read_inputs(data)


def test_a_users_set_may_be_whole_without_a_reference(data):
    for part in "AB":
        shutil.copy(data / f"grayscale6/lab-{part}.png", data / f"grayscale6/jug-{part}.png")
    *_, jug = read_inputs(data).grey
    assert (jug.name, len(jug.frames), jug.reference) == ("Jug", 2, None)


@pytest.mark.parametrize("name", ["lab", "disk"])
def test_public_references_are_needed(data, name):
    (data / f"grayscale6/{name}-ref.png").unlink()
    with pytest.raises(
        FileError, match=rf"missing: 1 file of grayscale6 \(grayscale6/{name}-ref.png\); docs"
    ):
        read_inputs(data)


def test_of_many_missing_files_their_number_folders_and_the_first_are_told(data):
    for folder in ("grayscale6", "training", "groundtruth"):
        shutil.rmtree(data / folder)
    # 4 pairs and 2 references, 5 pairs of crops.
    with pytest.raises(FileError) as caught:
        read_inputs(data)
    assert str(caught.value) == (
        f"{data}: missing: 20 files of grayscale6, training/pairs (grayscale6/clocks-A.png, "
        "grayscale6/clocks-B.png, grayscale6/lab-A.png, and 17 more) and the folder groundtruth/real-mff; "
        "docs/reproduction.md says where to get them"
    )
