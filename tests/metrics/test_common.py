"""What holds for every metric of a fused image and its sources."""

import numpy as np
import pytest

from panfocus import metrics
from panfocus.errors import InputError

EVERY_METRIC = pytest.mark.parametrize(
    "metric", [metrics.nmi, metrics.qabf], ids=lambda metric: metric.__name__
)


@pytest.fixture
def scene(rng):
    """Two sources and their mean; few levels, so that gradients of zero occur."""
    sources = [rng.integers(100, 110, (13, 17)).astype(np.uint8) for _ in range(2)]
    return sources, np.round(np.mean(sources, axis=0)).astype(np.uint8)


@EVERY_METRIC
def test_order_of_sources_does_not_matter(scene, metric):
    (a, b), fused = scene
    assert metric([a, b], fused) == pytest.approx(metric([b, a], fused), rel=1e-14)


@EVERY_METRIC
def test_sources_may_be_one_array(scene, metric):
    sources, fused = scene
    assert metric(np.stack(sources), fused) == metric(sources, fused)


@EVERY_METRIC
def test_sixteen_bits_give_the_value_of_eight(scene, metric):
    sources, fused = scene
    wide = [image.astype(np.uint16) * 257 for image in (*sources, fused)]
    assert metric(wide[:-1], wide[-1]) == metric(sources, fused)


@EVERY_METRIC
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_floats_give_the_value_of_eight_bits(scene, metric, dtype, tolerance):
    sources, fused = scene
    *floats, fused_float = (image.astype(dtype) / dtype(255) for image in (*sources, fused))
    assert metric(floats, fused_float, data_range=1.0) == pytest.approx(metric(sources, fused), rel=tolerance)


@EVERY_METRIC
def test_twelve_bits_in_sixteen_take_their_own_range(scene, metric):
    sources, fused = scene
    *packed, fused_packed = (np.round(image * (4095 / 255)).astype(np.uint16) for image in (*sources, fused))
    assert metric(packed, fused_packed, data_range=4095) == pytest.approx(metric(sources, fused), abs=0.02)


@EVERY_METRIC
def test_one_pixel_and_constant_images_have_a_value(metric):
    for shape in [(1, 1), (1, 9), (13, 17)]:
        for level in (0, 255):
            image = np.full(shape, level, np.uint8)
            assert 0 <= metric([image, image], image) <= 1


@EVERY_METRIC
def test_sources_are_left_alone(scene, metric):
    sources, fused = scene
    before = [image.copy() for image in (*sources, fused)]
    metric(sources, fused)
    for image, copy in zip((*sources, fused), before, strict=True):
        np.testing.assert_array_equal(image, copy)


GREY = np.zeros((5, 7), np.uint8)


@EVERY_METRIC
@pytest.mark.parametrize(
    ("sources", "fused", "said"),
    [
        ([GREY], GREY, "at least two sources, got 1"),
        ([], GREY, "at least two sources, got none"),
        ([GREY, np.zeros((5, 7, 3), np.uint8)], GREY, r"source 1 has shape \(5, 7, 3\); metrics take grey"),
        ([GREY, np.zeros((5, 8), np.uint8)], GREY, "source 1 is 8 x 5 pixels, the fused image is 7 x 5"),
        ([GREY, GREY.astype(np.uint16)], GREY, "source 1 is uint16, the fused image is uint8"),
        ([GREY.astype(int)] * 2, GREY.astype(int), "source 0 is int64; supported"),
        ([GREY.astype(float)] * 2, GREY.astype(float), "float images need data_range"),
    ],
)
def test_what_cannot_be_compared_is_named(metric, sources, fused, said):
    with pytest.raises(InputError, match=said):
        metric(sources, fused)


@EVERY_METRIC
def test_nan_and_a_bad_range_are_named(metric):
    image = np.zeros((5, 7))
    with pytest.raises(InputError, match="the fused image holds NaN"):
        metric([image, image], np.full((5, 7), np.nan), data_range=1.0)
    with pytest.raises(InputError, match="data_range must be a number above 0, got 0"):
        metric([image, image], image, data_range=0.0)
