"""What `quality=high` of the method `panfocus` gives up against `quality=exact`.

Differing labels are counted over all pixels of the Lytro pairs. `quality_..._psnr` is how much higher the
colour PSNR of `high` is, in dB, without 8 border pixels: mean over each half of both ground-truth sets.
"""

from collections import defaultdict

import numpy as np

import panfocus as pf
from benchmarks._data import need_data
from benchmarks._truth import colour_psnr, scenes
from panfocus.compare import find_groups
from panfocus.io.read import read_image, read_stack
from panfocus.methods import setting_names


def run() -> dict[str, float]:
    """Fuse all scenes twice."""
    if "quality" not in setting_names("panfocus"):
        print("  skipped: the method panfocus has no setting quality")
        return {}
    gains = defaultdict(list)
    for name, half, scene in scenes():
        frames, truth = read_stack(scene.sources).frames, read_image(scene.reference)
        high, exact = (colour_psnr(result.image, truth) for result in both(frames))
        gains[f"quality_{name.replace('-', '_')}_{half}_psnr"].append(high - exact)
    (lytro,) = find_groups([need_data() / "lytro"])
    return {
        "quality_lytro_labels_differ": labels_differ(
            read_stack(scene.sources).frames for scene in lytro.scenes
        ),
        **{key: float(np.mean(values)) for key, values in gains.items()},
    }


def both(frames: np.ndarray) -> tuple[pf.FusionResult, pf.FusionResult]:
    """Fuse frames at high quality and exactly."""
    return pf.fuse(frames, quality="high"), pf.fuse(frames, quality="exact")


def labels_differ(stacks) -> float:
    """Share of the pixels of all stacks that have another label at high quality."""
    differing = pixels = 0
    for frames in stacks:
        high, exact = both(frames)
        differing += np.count_nonzero(high.labels != exact.labels)
        pixels += exact.labels.size
    return differing / pixels
