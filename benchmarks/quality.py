"""Loss of `quality=high` and `quality=fast` of the method `panfocus` against `quality=exact`.

Pixels with other labels or out-of-focus masks are counted over all Lytro pairs. `quality_..._psnr` is the
difference in colour PSNR from `exact` in dB, without 8 border pixels: mean over each half of both
ground-truth sets.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

import panfocus as pf
from benchmarks._data import need_data
from benchmarks._truth import colour_psnr, scenes
from panfocus.compare import find_groups
from panfocus.io.read_stack import read_image, read_stack
from panfocus.methods import setting_names

CHEAPER = ("high", "fast")
MAPS = ("labels", "never_in_focus")


def run() -> dict[str, float]:
    """Fuse all scenes at every quality."""
    if "quality" not in setting_names("panfocus"):
        print("  skipped: the method panfocus has no setting quality")
        return {}
    gains = defaultdict(list)
    for name, half, scene in scenes():
        frames, truth = read_stack(scene.sources).frames, read_image(scene.reference)
        exact = colour_psnr(fused(frames, "exact").image, truth)
        for quality in CHEAPER:
            gain = colour_psnr(fused(frames, quality).image, truth) - exact
            gains[f"quality_{quality}_{name.replace('-', '_')}_{half}_psnr"].append(gain)
    (lytro,) = find_groups([need_data() / "lytro"])
    return {
        **differences(read_stack(scene.sources).frames for scene in lytro.scenes),
        **{key: float(np.mean(values)) for key, values in sorted(gains.items())},
    }


def fused(frames: np.ndarray, quality: str) -> pf.FusionResult:
    """Fuse frames at this quality."""
    return pf.fuse(frames, quality=quality)


def differences(stacks: Iterable[np.ndarray]) -> dict[str, float]:
    """Return the shares of pixels whose maps differ from `exact`."""
    differing: defaultdict[str, int] = defaultdict(int)
    pixels = 0
    for frames in stacks:
        exact = fused(frames, "exact")
        pixels += frames[0, ..., 0].size
        for quality in CHEAPER:
            result = fused(frames, quality)
            for name in MAPS:
                differ = getattr(result, name) != getattr(exact, name)
                differing[f"quality_{quality}_lytro_{name}_differ"] += np.count_nonzero(differ)
    return {key: count / pixels for key, count in differing.items()}
