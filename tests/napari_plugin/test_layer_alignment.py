"""How far `auto` goes in aligning the slices of layers: the rule of the command line."""

import numpy as np
import pytest
from napari.layers import Image
from scipy.ndimage import gaussian_filter, map_coordinates

from panfocus.errors import AlignmentError
from panfocus.napari_plugin.fusion_worker import fuse_source
from panfocus.napari_plugin.layer_frames import from_list, from_stacks

ONLY_SHIFTS = "Only shifts were searched"
RNG = np.random.default_rng(5)


def breathing_slices():
    """A texture, and the same 1.8 % larger, as a lens that breathes makes it."""
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
def test_slices_of_a_microscope_are_not_scaled_unless_asked_for(source):
    outcome = fuse(source)
    assert outcome.result.report["alignment"]["model"] == "none"
    assert outcome.said[-1] == f"{ONLY_SHIFTS}; align=similarity allows scale and rotation"
    assert fuse(source, "similarity").result.report["alignment"]["model"] == "similarity"


@pytest.mark.parametrize("source", [stack(), stack("mm"), flat()])
def test_other_slices_are_scaled_if_need_be(source):
    outcome = fuse(source)
    assert outcome.result.report["alignment"]["model"] == "similarity"
    assert not any(ONLY_SHIFTS in sentence for sentence in outcome.said)


def test_a_slice_of_another_scene_is_named_and_what_to_do_said():
    other = np.stack([BREATHING[0], RNG.integers(0, 60000, BREATHING[0].shape, np.uint16)])
    with pytest.raises(AlignmentError, match=r"slice 1 of s .*; leave it out, or fuse with align=off$"):
        fuse(from_stacks([Image(other, name="s")], 0))
