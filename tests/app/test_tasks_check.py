"""What is told of frames that do not belong together, before they are fused."""

import numpy as np
import pytest

from panfocus.app.tasks import check
from panfocus.io.encode import write_image


@pytest.fixture
def warnings(tmp_path):
    """Return what is told of frames, given by their names and shapes."""

    def told(**shapes):
        frames = []
        for number, (name, shape) in enumerate(shapes.items()):
            path = tmp_path / f"{name}.png"
            write_image(path, np.full(shape, number, np.uint8))
            frames.append({"name": path.name, "path": str(path), "thumbnail": str(path), "digest": name})
        return check.run({"frames": frames}, lambda event: None)["warnings"]

    return told


def test_one_odd_frame_is_named_in_one_line_though_it_is_the_first(warnings):
    others = {f"b{number}": (32, 64) for number in range(30)}
    assert warnings(a=(64, 32), **others) == [
        "a.png is 32 x 64 pixels, b0.png, like 29 others, is 64 x 32; all frames need one size: crop them."
    ]


def test_odd_frames_of_one_kind_share_a_line(warnings):
    shapes = dict.fromkeys("abc", (32, 64)) | dict.fromkeys("de", (32, 32)) | {"f": (32, 64, 3)}
    assert warnings(**shapes) == [
        "d.png, like 1 other, is 32 x 32 pixels, a.png, like 2 others, is 64 x 32; "
        "all frames need one size: crop them.",
        "f.png is colour, a.png, like 2 others, is grey; convert them to one colour model.",
    ]


def test_copies_share_a_line():
    def told(digests):
        return check._copies([{"name": f"{k}.png", "digest": digest} for k, digest in enumerate(digests)])

    assert told("abc") == []
    assert told("aba") == ["2.png has the same pixels as 0.png."]
    assert told("abba") == [
        "2 frames have the same pixels as others before them: 2.png as 1.png, 3.png as 0.png."
    ]
    assert told("a" * 75) == [
        "74 frames have the same pixels as others before them: "
        "1.png as 0.png, 2.png as 0.png, 3.png as 0.png and 71 more."
    ]


def test_frames_that_belong_together_need_no_line(warnings):
    assert warnings(a=(32, 64), b=(32, 64)) == warnings() == []


def test_a_frame_that_shows_nothing_is_called_blank(tmp_path):
    rng = np.random.default_rng(2)
    coarse = np.kron(rng.integers(0, 200, (12, 16)), np.ones((8, 8))).astype(np.uint8)
    frames = []
    for name, picture in {"a": coarse, "b": rng.integers(0, 3, coarse.shape, np.uint8), "c": coarse}.items():
        path = tmp_path / f"{name}.png"
        write_image(path, picture)
        frames.append({"name": path.name, "path": str(path), "thumbnail": str(path), "digest": name})
    told = check.run({"frames": frames}, lambda event: None)["warnings"]
    assert told == ["b.png is blank: nothing is seen in it."]
