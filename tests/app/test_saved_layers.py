"""Layers on disk, compared with the same levels made in memory."""

import numpy as np
import pytest

from panfocus._threads import limit_threads
from panfocus.app.result_layers import (
    check_space,
    edit_layer,
    level_name,
    list_layers,
    read_display,
    save_display,
    save_layer,
)
from panfocus.errors import FileError
from panfocus.io.disk_array import ArrayFolder
from panfocus.show.pyramid import halve


@pytest.mark.parametrize("threads", [1, 3])
def test_a_layer_is_saved_with_its_pyramid(rng, tmp_path, threads):
    arrays = ArrayFolder(tmp_path)
    frames = rng.integers(0, 65536, (2, 1100, 600, 3)).astype(np.uint16)
    with limit_threads(threads):
        save_layer(arrays, "frames", frames)
        save_layer(arrays, "fused", frames[0])
        save_layer(arrays, "votes", frames[..., 0])
    saved = sorted(path.stem for path in tmp_path.iterdir())
    assert saved == ["frames", "frames.1", "frames.2", "fused", "fused.1", "fused.2", "votes"]
    for k in range(2):
        image = frames[k]
        for e in range(3):
            with arrays.array(level_name("frames", e)) as level:
                np.testing.assert_array_equal(level[k], image)
            image = halve(image, "mean")
    with arrays.array("votes") as votes:
        np.testing.assert_array_equal(votes[:], frames[..., 0])
    assert list_layers(arrays) == (["fused", "frame-0", "frame-1"], 3)


def test_the_space_that_is_checked_is_what_the_layers_need(rng, tmp_path):
    arrays = ArrayFolder(tmp_path)
    frames = np.broadcast_to(np.uint16(0), (100, 1 << 20, 1 << 20, 3))
    with pytest.raises(FileError) as caught:
        check_space(arrays, frames)
    assert caught.value.hint == "free_space"
    small = rng.integers(0, 9, (3, 1030, 700, 3)).astype(np.uint8)
    check_space(arrays, small)
    asked = []
    arrays.check_room = lambda n_bytes, **_: asked.append(n_bytes)
    check_space(arrays, small)
    save_layer(arrays, "frames", small)
    for name in ("fused", "retouched"):
        save_layer(arrays, name, small[0])
    for name, dtype in (
        ("labels", np.uint8),
        ("depth", "f4"),
        ("confidence", "f4"),
        ("never_in_focus", bool),
    ):
        save_layer(arrays, name, small[0, ..., 0].astype(dtype))
    save_layer(arrays, "votes", small[..., 0].astype(np.uint16))
    taken = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert 0.95 * asked[0] < taken <= asked[0] + 128 * len(list(tmp_path.iterdir()))


def test_a_changed_rectangle_changes_every_level(rng, tmp_path):
    arrays = ArrayFolder(tmp_path)
    image = rng.integers(0, 256, (600, 700, 3)).astype(np.uint8)
    save_layer(arrays, "retouched", image)
    with edit_layer(arrays, "retouched", slice(101, 333), slice(5, 8)) as picture:
        picture[101:333, 5:8] = 9
    image[101:333, 5:8] = 9
    for e in range(2):
        with arrays.array(level_name("retouched", e)) as level:
            np.testing.assert_array_equal(level[:], image)
        image = halve(image, "mean")


@pytest.mark.parametrize("profile", [None, b"\0\xff profile"])
def test_the_display_is_saved(tmp_path, profile):
    arrays = ArrayFolder(tmp_path)
    frames = np.full((3, 20, 30), 1000, np.uint16)
    save_layer(arrays, "frames", frames)
    save_layer(arrays, "fused", frames[0])
    display = save_display(arrays, profile)
    assert (display.white, display.n_frames, display.icc_profile) == (1000, 3, profile)
    assert read_display(arrays) == display
