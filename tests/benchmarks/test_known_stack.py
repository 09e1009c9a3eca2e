import numpy as np
import pytest
from benchmarks._known_stack import FINE, REACH, KnownStack, score

import panfocus as pf


@pytest.fixture
def stack(rng):
    image = rng.integers(40, 200, (33, 45, 3)).astype(np.uint8)
    mask = np.zeros((33, 45), bool)
    mask[14:18, 15:19] = True
    return KnownStack("granules", "choose", "s", np.stack([image] * 2), image, detail=mask)


def test_equal_detail_has_amount_and_correlation_one(stack):
    figures = score(pf.FusionResult(stack.image), stack)
    assert np.isclose(figures["amount"], 1, rtol=1e-12)
    assert np.isclose(figures["correlation"], 1, rtol=1e-12)


@pytest.mark.parametrize("factor", [-1.0, 0.5, 1.4])
def test_amount_is_the_factor_of_the_detail_and_correlation_its_sign(stack, factor):
    """x - G * x is linear and a constant has none, so the detail of c + f x is f times that of x."""
    figures = score(pf.FusionResult(60.0 + factor * stack.image), stack)
    assert np.isclose(figures["amount"], factor, rtol=1e-9)
    assert np.isclose(figures["correlation"], np.sign(factor), rtol=1e-9)


def test_detail_counts_near_the_mask_only(stack):
    """Changes beyond REACH and the reach of the Gaussian (4 FINE) change nothing."""
    changed = stack.image.copy()
    changed[:, 18 + REACH + int(4 * FINE) + 1 :] = 0
    before, after = (score(pf.FusionResult(image), stack) for image in (stack.image, changed))
    assert after["amount"] == before["amount"]
    assert after["psnr"] < before["psnr"]


def test_there_are_no_figures_of_detail_without_a_mask(stack):
    plain = KnownStack("granules", "choose", "s", stack.frames, stack.image)
    assert "amount" not in score(pf.FusionResult(stack.image), plain)
