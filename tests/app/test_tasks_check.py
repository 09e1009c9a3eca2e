"""Warnings about frames that do not belong together."""

import re

import numpy as np
import pytest

from panfocus.app.tasks import check
from panfocus.io.encode import write_image


@pytest.fixture
def warnings(tmp_path):
    """Return the warnings about frames, given by their names and shapes."""

    def check_frames(**shapes):
        frames = []
        for number, (name, shape) in enumerate(shapes.items()):
            path = tmp_path / f"{name}.png"
            write_image(path, np.full(shape, number, np.uint8))
            frames.append({"name": path.name, "path": str(path), "thumbnail": str(path), "digest": name})
        return check.run(print, frames=frames)["warnings"]

    return check_frames


def test_one_odd_frame_is_named_in_one_line_even_if_it_is_the_first(warnings, message):
    others = {f"b{number}": (32, 64) for number in range(30)}
    (line,) = warnings(a=(64, 32), **others)
    message("page-odd-size", line)


def test_odd_frames_of_one_kind_share_a_line(warnings):
    shapes = dict.fromkeys("abc", (32, 64)) | dict.fromkeys("de", (32, 32)) | {"f": (32, 64, 3)}
    size, colours = warnings(**shapes)
    assert size.startswith("d.png, like 1 other,") and "a.png, like 2 others," in size
    assert colours.startswith("f.png ")


@pytest.mark.parametrize(
    ("digests", "named"),
    [("abc", []), ("aba", ["2.png", "0.png"]), ("abba", ["2.png", "1.png", "3.png", "0.png"])],
)
def test_copies_share_a_line(digests, named):
    frames = [{"name": f"{k}.png", "digest": digest} for k, digest in enumerate(digests)]
    lines = check._find_copies(frames)
    assert len(lines) == bool(named)
    assert re.findall(r"\d\.png", "".join(lines)) == named


def test_of_many_copies_some_are_named(message):
    message("page-many-copies", *check._find_copies([{"name": f"{k}.png", "digest": "a"} for k in range(75)]))


def test_frames_that_belong_together_cause_no_warning(warnings):
    assert warnings(a=(32, 64), b=(32, 64)) == warnings() == []


def test_a_blank_frame_is_named(tmp_path):
    rng = np.random.default_rng(2)
    coarse = np.kron(rng.integers(0, 200, (12, 16)), np.ones((8, 8))).astype(np.uint8)
    frames = []
    for name, picture in {"a": coarse, "b": rng.integers(0, 3, coarse.shape, np.uint8), "c": coarse}.items():
        path = tmp_path / f"{name}.png"
        write_image(path, picture)
        frames.append({"name": path.name, "path": str(path), "thumbnail": str(path), "digest": name})
    (line,) = check.run(print, frames=frames)["warnings"]
    assert line.startswith("b.png ")
