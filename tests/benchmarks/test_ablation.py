import numpy as np
import pytest
from benchmarks._known_stack import KnownStack
from benchmarks.ablation import PARTS
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


@pytest.fixture(scope="module")
def glints(frames):
    """The same frames with a light that is clipped where it is sharp and where it is blurred."""
    y, x = np.mgrid[-45:45, -90:90]
    light = 2e4 * (np.hypot(x, y) < 2)
    blurred = [gaussian_filter(light, s) for s in (3.0, 1.0, 3.0)]
    return np.clip(frames + np.stack(blurred)[..., None], 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def inverting():
    """Five noisy frames of a texture; each third has most contrast in another one, and is inverted beyond."""
    rng = np.random.default_rng(4)
    texture = 40 * gaussian_filter(rng.normal(size=(90, 180)), 1) + 80 * gaussian_filter(
        rng.normal(size=(90, 180)), 3
    )
    gains = np.array([0.5, 1.0, 0.6, -0.6, -0.3])
    third = np.arange(180) // 60
    stack = [128 + np.roll(gains, third.max())[(k - third) % 5] * texture for k in range(5)]
    return np.clip(np.rint(stack + rng.normal(0, 2, (5, 90, 180))), 0, 255).astype(np.uint8)


MAPS = ("image", "labels", "confidence", "depth", "never_in_focus")


def maps(result):
    return {name: getattr(result, name) for name in MAPS}


def different(a, b):
    return {name for name in MAPS if not np.array_equal(a[name], b[name])}


@pytest.mark.parametrize("name", [name for name in PARTS if name != "all parts"])
def test_a_part_that_is_off_changes_its_maps_and_is_restored(name, request):
    group = name.partition(":")[0]
    clipped, inverted = name.startswith("evidence: clipped"), group == "bright field"
    frames = request.getfixturevalue("glints" if clipped else "inverting" if inverted else "frames")
    whole = maps(pf.fuse(frames))
    before = [getattr(module, attribute) for module, attribute, _ in PARTS[name].replaced]
    with PARTS[name].switched_off():
        changed = different(whole, maps(pf.fuse(frames)))
    expected = {
        "evidence": {"image", "confidence", "depth"},
        "picture": {"image"},
        "surroundings": {"confidence", "depth"},
        "bright field": {"image"},
        "never in focus": {"never_in_focus"},
    }[group]
    assert expected <= changed
    if PARTS[name].kinds == (ablation.MASK,):
        assert "image" not in changed
    after = [getattr(module, attribute) for module, attribute, _ in PARTS[name].replaced]
    assert all(a is b for a, b in zip(after, before, strict=True))


def test_only_kinds_that_a_part_can_change_are_measured(frames):
    stack = KnownStack("granules", "choose", "one", frames, frames[1])
    parts = ["evidence: grey", "bright field: off"]
    place, rows = ablation.measure(stack, parts, noise=0)
    assert place == ("granules", "choose", "one")
    assert list(rows) == ["bright field: off"]
    assert rows["bright field: off"]["psnr"] > 0
