"""How soon a cancelled fusion stops."""

import numpy as np
import pytest
from napari.layers import Image

from panfocus.methods import _patchwise
from panfocus.napari_plugin.fusion_worker import Cancelled, fuse_source
from panfocus.napari_plugin.layer_frames import from_stacks

FRAMES = np.random.default_rng(7).integers(0, 256, (3, 70, 80), np.uint8)


@pytest.mark.parametrize("method", ["coupled", "sr-ksvd", "sr-cm", "sr-fm"])
def test_fusion_stops_within_a_tile(method, monkeypatch):
    monkeypatch.setattr(_patchwise, "PATCHES_PER_BLOCK", 80)
    checks, fusing = 0, False

    def check():
        nonlocal checks
        checks += fusing
        if checks > 10:  # the frames of the only tile are read by then
            raise Cancelled

    def progress(stage, done):
        nonlocal fusing
        fusing = stage == "fuse"
        if done:
            raise AssertionError("a whole tile was fused")

    with pytest.raises(Cancelled):
        fuse_source(
            from_stacks([Image(FRAMES)], 0),
            method,
            {},
            align="off",
            hot_pixels="off",
            exposure="off",
            decide_channels="auto",
            refine=False,
            progress=progress,
            check=check,
        )
