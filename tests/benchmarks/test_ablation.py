import numpy as np
import pytest
from benchmarks.ablation import PARTS, summary
from scipy.ndimage import gaussian_filter

import panfocus as pf
from benchmarks import ablation


@pytest.fixture(scope="module")
def frames():
    """Three noisy colour frames: each third of a texture is sharp in one, the last sixth in none."""
    rng = np.random.default_rng(3)
    layers = [s * gaussian_filter(rng.normal(size=(90, 180, 3)), (s, s, 0)) for s in (0.6, 1.2, 2.5, 5.0)]
    sharp = 128 + 60 * np.sum(layers, axis=0)
    third = np.arange(180) // 60
    blurred = [gaussian_filter(sharp, (s, s, 0)) for s in (0.5, 2.0, 4.0)]
    stack = [
        np.choose(np.abs(third - k)[None, :, None] + np.zeros(sharp.shape, int), blurred) for k in range(3)
    ]
    stack = [np.where(np.arange(180)[:, None] < 150, frame, blurred[2]) for frame in stack]
    noise = rng.normal(0, 2, (3, *sharp.shape))
    return np.clip(np.rint(stack + noise), 0, 255).astype(np.uint8)


MAPS = ("image", "labels", "confidence", "depth", "never_in_focus")


def maps(result):
    return {name: getattr(result, name) for name in MAPS}


def different(a, b):
    return {name for name in MAPS if not np.array_equal(a[name], b[name])}


@pytest.fixture(scope="module")
def whole(frames):
    return maps(pf.fuse(frames))


@pytest.mark.parametrize("name", [name for name in PARTS if name != "all parts"])
def test_a_part_that_is_off_changes_its_maps_and_is_restored(name, frames, whole):
    before = [getattr(module, attribute) for module, attribute, _ in PARTS[name].replaced]
    with PARTS[name].switched_off():
        without = maps(pf.fuse(frames))
    changed = different(whole, without)
    expected = {
        "evidence": {"image", "confidence", "depth"},
        "picture": {"image"},
        "surroundings": {"confidence", "depth"},
        "never in focus": {"never_in_focus"},
    }[name.partition(":")[0]]
    assert expected <= changed
    if ablation.TRUTH not in PARTS[name].sets:
        assert "image" not in changed
    if ablation.LYTRO not in PARTS[name].sets:
        assert "labels" not in changed
    after = [getattr(module, attribute) for module, attribute, _ in PARTS[name].replaced]
    assert all(a is b for a, b in zip(after, before, strict=True))


def test_means_are_over_scenes():
    assert summary("lytro", {"a": {"nmi": 1.0}, "b": {"nmi": 2.0}}) == {"nmi": 1.5}
