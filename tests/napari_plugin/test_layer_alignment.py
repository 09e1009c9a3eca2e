"""Models that `auto` tries to align layers: the same as in the command."""

import numpy as np
import pytest
from napari.layers import Image
from scipy.ndimage import gaussian_filter, map_coordinates

from panfocus.errors import AlignmentError
from panfocus.napari_plugin.fusion_worker import fuse_source
from panfocus.napari_plugin.layer_frames import from_list, from_stacks

RNG = np.random.default_rng(5)


def breathing_slices():
    """A texture, and the same 1.8 % larger, as with focus breathing."""
    texture = gaussian_filter(RNG.random((240, 240)), 1.5)
    texture = (texture - texture.min()) / np.ptp(texture)
    rows, cols = np.mgrid[20:220, 20:220] - 119.5
    slices = [map_coordinates(texture, [rows / z + 119.5, cols / z + 119.5], order=3) for z in (1, 1.018)]
    return np.rint(60000 * np.clip(slices, 0, 1)).astype(np.uint16)


BREATHING = breathing_slices()


def fuse(source, align="auto"):
    return fuse_source(
        source,
        "dwt",
        {},
        align=align,
        hot_pixels="off",
        exposure="off",
        decide_channels="auto",
        refine=False,
        progress=lambda stage, done: None,
        check=lambda: None,
    )


def stack(units="pixel"):
    return from_stacks([Image(BREATHING, scale=(1, 0.5, 0.5), units=units)], 0)


def channels():
    return from_stacks([Image(BREATHING, name="g"), Image(BREATHING, name="r")], 0)


def flat(units="pixel"):
    return from_list([Image(frame, name=f"f{k}", units=units) for k, frame in enumerate(BREATHING)])


@pytest.mark.parametrize("source", [stack("um"), stack("micron"), stack("nm"), channels(), flat("um")])
def test_microscopy_slices_are_not_scaled_by_default(source):
    result, summary = fuse(source)
    assert result.report["alignment"]["model"] == "none"
    assert "similarity" in summary[-1]
    assert fuse(source, "similarity")[0].report["alignment"]["model"] == "similarity"


@pytest.mark.parametrize("source", [stack(), stack("mm"), flat()])
def test_other_slices_are_scaled_if_needed(source):
    result, _ = fuse(source)
    assert result.report["alignment"]["model"] == "similarity"


def test_slice_of_another_scene_is_rejected():
    other = np.stack([BREATHING[0], RNG.integers(0, 60000, BREATHING[0].shape, np.uint16)])
    with pytest.raises(AlignmentError, match="slice 1 of s"):
        fuse(from_stacks([Image(other, name="s")], 0))
