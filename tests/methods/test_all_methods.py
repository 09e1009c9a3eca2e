"""Properties of every method: any number and order of frames, grey and colour, whole images and tiles."""

from functools import cache

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus._threads import limit_threads
from panfocus.methods import get_method, method_names
from panfocus.tiling.tiled import run_method

# Methods that copy or average pixels of the frames; the others compute new values.
COPIES_PIXELS = {
    *("coupled", "dsift", "log-energy", "max-projection", "min-projection", "panfocus", "pca"),
    *("sr-cm", "sr-fm", "sr-ksvd", "variance"),
}
CASES = [
    ("coupled", {}),
    ("coupled", {"stride": 3, "contrast": "normalised"}),
    ("dsift", {"cell": 2, "min_region": 60}),
    ("dsift", {"cell": 3, "refinement": "none"}),
    ("dwt", {}),
    ("dwt", {"wavelet": "sym4", "levels": 2, "details": "window", "approximation": "choose-max"}),
    ("log-energy", {}),
    ("log-energy", {"scale": 2.5, "window": 3}),
    ("max-projection", {}),
    ("min-projection", {}),
    ("panfocus", {}),
    ("panfocus", {"composition": "labels", "noise": 3.0}),
    ("panfocus", {"bright_field": "on"}),
    ("pca", {}),
    ("sr-cm", {}),
    ("sr-cm", {"patch_size": 5, "stride": 2, "reconstruct": "codes"}),
    ("sr-fm", {}),
    ("sr-fm", {"stride": 3}),
    ("sr-ksvd", {}),
    ("sr-ksvd", {"reconstruct": "codes"}),
    ("variance", {}),
    ("variance", {"window": 3}),
]


def create(case):
    name, settings = case
    return get_method(name, **settings)


def case_name(case):
    return ":".join([case[0], *(f"{name}={value}" for name, value in case[1].items())])


every_case = pytest.mark.parametrize("case", CASES, ids=case_name)
copying_case = pytest.mark.parametrize(
    "case",
    [c for c in CASES if c[0] in COPIES_PIXELS and c[1].get("reconstruct") != "codes"],
    ids=case_name,
)


tiled_case = pytest.mark.parametrize("case", [c for c in CASES if create(c).halo is not None], ids=case_name)


# In panfocus, neighbouring frames are neighbours in depth: the order of three or more frames matters.
any_order_case = pytest.mark.parametrize("case", [c for c in CASES if c[0] != "panfocus"], ids=case_name)
averaging_case = pytest.mark.parametrize(
    "case", [c for c in CASES if c[0] not in {"panfocus", "log-energy", "variance"}], ids=case_name
)


@cache
def focus_stack(n_frames, *, channels=None, dtype=np.uint8, shape=(61, 83)):
    """Return a texture that is sharp in another stripe of each frame, with noise (read-only)."""
    rng = np.random.default_rng(11)
    full = shape if channels is None else (*shape, channels)
    spread = (0.6, 0.6) if channels is None else (0.6, 0.6, 0)
    sharp = gaussian_filter(rng.random(full), spread)
    soft = gaussian_filter(sharp, [4 * s for s in spread])
    stripe = np.arange(shape[1]) * n_frames // shape[1]
    stripe = stripe.reshape((1, -1) if channels is None else (1, -1, 1))
    frames = np.stack([np.where(stripe == k, sharp, soft) for k in range(n_frames)])
    frames = np.clip(0.2 + 1.2 * (frames - frames.min()) + 0.01 * rng.random(frames.shape), 0, 1)
    if np.issubdtype(dtype, np.integer):
        frames = np.rint(frames * np.iinfo(dtype).max)
    frames = frames.astype(dtype)
    frames.flags.writeable = False  # shared by tests, and no method may write to its frames
    return frames


def detail(image):
    """Return the mean difference of neighbouring pixels."""
    return np.abs(np.diff(image.astype(float), axis=1)).mean()


def least_sharpness(frames):
    """Return the detail that a fused image must exceed: clearly more than the frames have on average."""
    return 1.4 * np.mean([detail(frame) for frame in frames])


def assert_same(result, expected):
    for name in ("image", "labels", "confidence", "depth", "never_in_focus"):
        a, b = getattr(result, name), getattr(expected, name)
        assert (a is None) == (b is None), name
        if a is not None:
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_every_method_is_tested():
    assert {name for name, _ in CASES} == set(method_names())


@every_case
@pytest.mark.parametrize(("n_frames", "channels"), [(2, None), (3, 3), (9, None)])
def test_fused_image_is_sharper_than_the_frames(case, n_frames, channels):
    frames = focus_stack(n_frames, channels=channels)
    result = run_method(create(case), frames)
    assert result.image.shape == frames.shape[1:]
    assert result.image.dtype == frames.dtype
    assert set(create(case).maps) == {
        name
        for name in ("labels", "confidence", "depth", "never_in_focus")
        if getattr(result, name) is not None
    }

    sharpness = detail(result.image)
    if case[0] == "pca":  # a weighted mean is as sharp as a mean
        assert 0.95 < sharpness / detail(frames.mean(axis=0)) < 1.05
    elif case[0] not in {"max-projection", "min-projection"}:  # an extreme may be a blurred value
        assert sharpness > least_sharpness(frames)


@pytest.mark.parametrize(("n_frames", "channels"), [(2, None), (3, 3), (9, None)])
def test_single_frames_and_means_are_not_sharp_enough(n_frames, channels):
    # Without this, the test above could pass without fusion.
    frames = focus_stack(n_frames, channels=channels)
    mean = frames.mean(axis=0)
    for image in (mean, *frames):
        assert detail(image) < 0.8 * least_sharpness(frames)
    assert detail(frames[0]) > 1.05 * detail(mean)


@copying_case
@pytest.mark.parametrize(
    ("dtype", "channels"), [(np.uint8, 3), (np.uint16, None), (np.float32, 3), (np.float64, None)]
)
def test_equal_frames_give_that_frame(case, dtype, channels):
    frame = focus_stack(2, channels=channels, dtype=dtype)[0]
    np.testing.assert_array_equal(run_method(create(case), np.stack([frame] * 3)).image, frame)


@copying_case
def test_result_stays_in_the_range_of_the_frames(case):
    frames = focus_stack(3, channels=3)
    image = run_method(create(case), frames).image
    assert (image >= frames.min(axis=0)).all()
    assert (image <= frames.max(axis=0)).all()


@any_order_case
@pytest.mark.parametrize(("channels", "dtype"), [(None, np.float64), (3, np.uint8)])
def test_order_of_frames_does_not_change_the_image(case, channels, dtype):
    frames = focus_stack(3, channels=channels, dtype=dtype, shape=(41, 53))
    expected = run_method(create(case), frames).image
    for order in ([1, 2, 0], [2, 1, 0]):
        np.testing.assert_array_equal(run_method(create(case), frames[order]).image, expected)


def with_ties(frames):
    """Return frames that tie in some areas, although their pixels differ."""
    white = np.iinfo(frames.dtype).max if frames.dtype.kind == "u" else 1
    tied = frames.copy()
    for k, level in enumerate((0.3, 0.8, 0.6, 0.1)[: len(frames)]):
        tied[k, :20, :20] = white * level  # flat
    tied[:, :20, 30:] = frames[0, :20, 30:]
    texture = np.random.default_rng(5).integers(-50, 50, frames.shape[1:])[21:, :24]
    middle, step = (128, 1) if frames.dtype == np.uint8 else (0.5, 1 / 128)
    for k, sign in enumerate((1, -1, 1, -1)[: len(frames)]):
        tied[k, 21:, :24] = middle + sign * step * texture  # the texture and its negative
    if frames.ndim == 4:
        tied[..., -1] = np.random.default_rng(6).permuted(frames[..., -1], axis=None)  # alpha must not decide
    return tied


@averaging_case
@pytest.mark.parametrize(
    ("channels", "dtype", "n_frames"), [(None, np.uint8, 2), (4, np.float64, 2), (4, np.uint8, 4)]
)
def test_order_of_tied_frames_does_not_matter(case, channels, dtype, n_frames):
    frames = with_ties(focus_stack(n_frames, channels=channels, dtype=dtype, shape=(41, 53)))
    expected = run_method(create(case), frames).image
    for order in [[1, 0]] if n_frames == 2 else [[3, 1, 0, 2], [1, 2, 3, 0]]:
        np.testing.assert_array_equal(run_method(create(case), frames[order]).image, expected)


@tiled_case
@pytest.mark.parametrize(("channels", "side"), [(None, 17), (3, 24), (None, 41)])
def test_tiles_equal_the_whole_image(case, channels, side):
    frames = focus_stack(3, channels=channels)
    assert_same(run_method(create(case), frames, side=side), run_method(create(case), frames, side=10**9))


@every_case
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_no_bit(case, threads):
    frames = focus_stack(2, dtype=np.float32)
    with limit_threads(threads):
        assert_same(run_method(create(case), frames, side=30), run_method(create(case), frames))


@every_case
@pytest.mark.parametrize("shape", [(8, 8), (9, 31), (40, 8)])
def test_small_images_are_fused(case, shape):
    frames = focus_stack(2, shape=shape)
    assert run_method(create(case), frames).image.shape == shape
