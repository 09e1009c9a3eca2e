"""Compare the method with steps 1 to 5 of docs/panfocus-method.md in float64, with SciPy's filters."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, maximum_filter

import panfocus as pf
from panfocus.decide.gray import to_gray
from panfocus.methods import get_method
from panfocus.simulate import apply_defocus
from reblur_reference import reference_log_odds, smoothed

SHAPE = (120, 150)


def chances(log_odds):
    """Return P of step 3."""
    likelihoods = np.exp(np.concatenate([np.zeros((1, *SHAPE)), np.cumsum(log_odds, axis=0)]))
    return likelihoods / likelihoods.sum(axis=0)


def in_levels(frames, clips):
    """Return frames (n, c, h, w) in levels, and the level from which pixels are clipped."""
    grays = [to_gray(frame) for frame in frames]
    dark = min(np.percentile(gray, 0.1) for gray in grays)
    span = max(np.percentile(gray, 99.9) for gray in grays) - dark
    clip = 255 * (0.985 * frames.max() - dark) / span if clips else None
    return 255 * (np.moveaxis(frames.astype(np.float64), 3, 1) - dark) / span, clip


def considered(narrow):
    """Return log odds between frames by how much the pixels around consider each of them."""
    of_frames = np.concatenate([np.zeros((1, *SHAPE)), np.cumsum(narrow, axis=0)])
    below_best = of_frames - of_frames.max(axis=0)
    return np.diff([maximum_filter(of_frame, 7) for of_frame in below_best], axis=0)


def gather(found):
    """Return the regional log odds of `reference_log_odds` over windows of 3, 8 and 20 pixels."""
    narrow = np.array([smoothed(np.clip(regional, -8, 8), 3, cut=2) for regional, _, _ in found])
    wider, widest = (
        np.array([smoothed(odds, np.sqrt(width**2 - 3**2), cut=2, step=step) for odds in narrow])
        for width, step in ((8, 3), (20, 6))
    )
    return narrow, wider, widest


def seams(weights, fine):
    """Smooth the weights of frames: nine tenths over `fine` pixels, the rest over 5."""
    return np.array([0.9 * smoothed(p, fine, cut=3) + 0.1 * smoothed(p, 5, cut=2) for p in weights])


def reference(frames, noise, clips):
    """Return image, labels, confidence and depth."""
    levels, clip = in_levels(frames, clips)
    found = reference_log_odds(levels, noise=noise, clip=clip, sections=True)
    narrow, wider, widest = gather(found)
    single, doubt = (np.array([odds[i] for odds in found]) for i in (1, 2))
    of_pixels = single + 0.5 * considered(narrow) + (0.1 + 0.5 * doubt) * (narrow + wider)
    weights = seams(chances(of_pixels), 0.5)
    image = np.einsum("nhw,nhwc->hwc", weights, frames)
    return image, *maps(narrow + wider + widest)


def bright_field_reference(frames, noise, depth_of_field):
    """Return image, labels, confidence and depth."""
    levels, _ = in_levels(frames, False)
    fine = [np.stack([plane - smoothed(plane, 1, cut=3) for plane in frame]) for frame in levels]
    narrow, wider, widest = gather(reference_log_odds(fine, noise=noise, sections=True))
    in_wide = [smoothed(smoothed(p, 15, cut=2, step=6), 78.6, cut=2, step=24) for p in chances(narrow / 3)]
    prior = np.diff(3 * np.log(np.array(in_wide) + 0.003), axis=0)
    planes = chances(narrow / 3 + prior).argmax(axis=0)

    def around_planes(deviation):
        distances = np.arange(len(frames))[:, None, None] - planes
        weights = np.exp(-0.5 * (distances / (deviation * depth_of_field)) ** 2)
        return weights / weights.sum(axis=0)

    smooth = np.array([[smoothed(c, 1.7, cut=3) for c in np.moveaxis(frame, 2, 0)] for frame in frames])
    smooth = np.moveaxis(smooth, 1, 3)
    coarse = [smoothed(weight, 5, cut=2) for weight in around_planes(1.6)]
    image = np.einsum("nhw,nhwc->hwc", seams(around_planes(0.4), 1.5), frames - smooth)
    image += np.einsum("nhw,nhwc->hwc", coarse, smooth)
    image = np.clip(image, frames.min(axis=0), frames.max(axis=0))
    return image, *maps(narrow + wider + widest + 3 * prior)


def maps(of_surroundings):
    """Return labels, confidence and depth of step 5."""
    around = np.stack([smoothed(q, 15, cut=2, step=3) for q in chances(of_surroundings)])
    coupled = np.array(of_surroundings) + 4 * np.diff(around, axis=0)
    likely = chances(coupled / 3)
    labels = likely.argmax(axis=0)
    ends = np.full((1, *SHAPE), 3.0)
    rising, falling = (
        np.take_along_axis(odds, labels[None], axis=0)[0]
        for odds in (np.concatenate([ends, coupled]), np.concatenate([-coupled, ends]))
    )
    depth = np.clip(labels - 0.5 + rising / (rising + falling), 0, len(coupled))
    return labels, likely.max(axis=0), depth


def stack(noise):
    """Return three float frames of a slope, with low contrast at the top and a moving object."""
    rng = np.random.default_rng(3)
    of_widths = [w * gaussian_filter(rng.normal(size=(*SHAPE, 3)), (w, w, 0)) for w in (0.7, 1.5, 4)]
    sharp = 0.5 + 0.2 * np.sum(of_widths, axis=0)
    sharp[:50] = 0.5 + 0.06 * (sharp[:50] - 0.5)
    blurs = [
        np.stack([apply_defocus(plane, radius) for plane in np.moveaxis(sharp, 2, 0)], axis=2)
        for radius in np.arange(0, 4.5, 0.5)
    ]
    frames = []
    for focus in range(3):
        radii = 1.6 * np.abs(np.linspace(-0.3, 2.3, SHAPE[1]) - focus)
        frame = np.stack([blurs[round(2 * radius)][:, col] for col, radius in enumerate(radii)], axis=1)
        frame[80:100, 40 + 12 * focus : 60 + 12 * focus] = 0.2 + 0.6 * rng.random((20, 20, 3))
        frames.append(frame + rng.normal(0, noise / 255, frame.shape))
    return np.stack(frames).astype(np.float32)


def glint(frames):
    """Return frames with a light that is clipped at 1: a small square in frame 0, blurred in the others."""
    scene = np.zeros(SHAPE)
    scene[58:64, 26:32] = 30
    lights = [apply_defocus(scene, radius)[..., None] for radius in (0, 3, 6)]
    return np.minimum(frames + lights, 1).astype(np.float32)


def assert_matches(result, expected):
    image, labels, confidence, depth = expected
    np.testing.assert_allclose(result.image, image, atol=5e-4)  # weights and doubt are quantised
    np.testing.assert_array_equal(result.labels, labels)
    np.testing.assert_allclose(result.confidence, confidence, atol=1e-4)  # ties between two widths
    np.testing.assert_allclose(result.depth, depth, atol=1e-3)


@pytest.mark.parametrize("clips", [False, True])
@pytest.mark.parametrize("noise", [0.5, 6.0])
def test_results_match_the_documented_equations(noise, clips):
    frames = glint(stack(noise)) if clips else stack(noise)
    surveyed = get_method("panfocus", noise=noise).survey(frames)
    assert (surveyed.clip is not None) == clips
    result = pf.fuse(frames, noise=noise, exposure="off", hot_pixels="off")
    assert not result.report["bright_field"]
    assert_matches(result, reference(frames, noise, clips))
    # The test covers every frame, certain and uncertain pixels, and depths between frames.
    assert np.bincount(result.labels.ravel()).min() > 0.1 * result.labels.size
    assert np.mean(result.confidence < 0.8) > 0.1
    assert np.mean(np.abs(result.depth - np.rint(result.depth)) > 0.1) > 0.1


@pytest.mark.parametrize("noise", [0.5, 6.0])
def test_bright_field_matches_the_documented_equations(noise):
    frames = stack(noise)
    depth_of_field = get_method("panfocus", noise=noise).survey(frames).depth_of_field
    result = pf.fuse(frames, noise=noise, exposure="off", hot_pixels="off", bright_field="on")
    assert_matches(result, bright_field_reference(frames, noise, depth_of_field))
    assert len(np.unique(result.labels)) == 3
