"""What holds for every metric."""

import math

import numpy as np
import pytest

from panfocus import metrics
from panfocus._threads import limit_threads
from panfocus.errors import InputError
from panfocus.metrics import CATALOGUE

SIZE = (43, 47)  # the smallest odd one that is not square and holds every window


def value(metric, sources, fused, **options):
    """Call a metric with what it takes of sources and fused image; the first source is the reference."""
    if metric.colour:  # three equal channels: what holds for grey holds for them
        sources, fused = [in_colour(source) for source in sources], in_colour(fused)
    arguments = {"sources": (sources, fused), "reference": (sources[0], fused), "single": (fused,)}
    return metric.function(*arguments[metric.kind], **options)


def in_colour(grey):
    return np.stack([grey] * 3, axis=-1)


EVERY_METRIC = pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.key)
METRICS_OF_SOURCES = pytest.mark.parametrize(
    "metric", [metric for metric in CATALOGUE if metric.kind == "sources"], ids=lambda metric: metric.key
)
WITH_MORE_SOURCES = pytest.mark.parametrize(
    "metric",
    [metric for metric in CATALOGUE if metric.kind == "sources" and metric.key != "SCD"],
    ids=lambda metric: metric.key,
)

# Larger windows than the image, or rows that are too few.
UNDEFINED_BELOW = {"QY": 7, "QW": 8, "QC": 8, "SSIM": 11, "VIFF": 41, "FMI": 3, "SD": 2}

# Documented values of equal images and of constant ones. Those of metrics that are missing in the first
# depend on the image: on the entropy of its levels (QNCIE, TE), on its features (QP), or on nothing else.
OF_EQUAL_IMAGES = {
    "NMI": 2,
    "QABF": 0.9994 / (1 + math.exp(-7.5)) * 0.9879 / (1 + math.exp(-4.4)),
    "QABF_zliu": 1 / (1 + math.exp(-5)) ** 2,
    "QY": 1, "QCB": 1, "FMI": 1, "VIFF": 1, "QW": 1, "QC": 1, "SCD": 0,
    "SSIM": 1, "MSE": 0, "PSNR": math.inf, "PSNR_RGB": math.inf,
}  # fmt: skip
OF_CONSTANT_IMAGES = OF_EQUAL_IMAGES | {
    "QP": 1, "NMI": 0,
    "QNCIE": 1 - math.log(3) / math.log(256), "TE": 0, "SF": 0, "AG": 0, "EN": 0, "SD": 0, "EI": 0,
}  # fmt: skip


@pytest.fixture
def scene(rng):
    """Two sources and their mean, with flat windows, gradients of zero and ties."""
    sources = [rng.integers(100, 110, SIZE).astype(np.uint8) for _ in range(2)]
    for source in sources:
        source[:15, :20] = 104
    return sources, np.round(np.mean(sources, axis=0)).astype(np.uint8)


@METRICS_OF_SOURCES
def test_order_of_sources_does_not_matter(scene, metric):
    (a, b), fused = scene
    assert value(metric, [a, b], fused) == pytest.approx(value(metric, [b, a], fused), rel=1e-12)


@WITH_MORE_SOURCES
def test_order_of_three_sources_does_not_matter(scene, metric):
    (a, b), fused = scene
    c = np.flipud(a)
    values = [value(metric, order, fused) for order in ([a, b, c], [c, a, b], [b, a, c])]
    assert values == pytest.approx([values[0]] * 3, rel=1e-12)


@METRICS_OF_SOURCES
def test_sources_may_be_one_array(scene, metric):
    sources, fused = scene
    assert value(metric, np.stack(sources), fused) == value(metric, sources, fused)


@EVERY_METRIC
def test_sixteen_bits_give_the_value_of_eight(scene, metric):
    sources, fused = scene
    *wide, wide_fused = (image.astype(np.uint16) * 257 for image in (*sources, fused))
    assert value(metric, wide, wide_fused) == value(metric, sources, fused)


@EVERY_METRIC
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_floats_give_the_value_of_eight_bits(scene, metric, dtype, tolerance):
    sources, fused = scene
    *floats, fused_float = (image.astype(dtype) / dtype(255) for image in (*sources, fused))
    expected = value(metric, sources, fused)
    assert value(metric, floats, fused_float, data_range=1.0) == pytest.approx(expected, rel=tolerance)


@EVERY_METRIC
def test_twelve_bits_in_sixteen_take_their_own_range(scene, metric):
    sources, fused = scene
    *packed, fused_packed = (image.astype(np.uint16) * 16 for image in (*sources, fused))
    expected = value(metric, sources, fused)
    assert value(metric, packed, fused_packed, data_range=4080) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "metric",
    [metric for metric in CATALOGUE if metric.key in OF_EQUAL_IMAGES],
    ids=lambda metric: metric.key,
)
def test_equal_images_have_the_documented_value(scene, metric):
    (image, _), _ = scene
    assert value(metric, [image, image], image) == pytest.approx(OF_EQUAL_IMAGES[metric.key], abs=1e-6)


@EVERY_METRIC
@pytest.mark.parametrize("level", [0, 104, 255])
def test_constant_images_have_the_documented_value(metric, level):
    image = np.full(SIZE, level, np.uint8)
    assert value(metric, [image, image], image) == pytest.approx(OF_CONSTANT_IMAGES[metric.key], abs=1e-6)


@EVERY_METRIC
def test_different_constant_images_have_a_finite_value(metric):
    black, grey, white = (np.full(SIZE, level, np.uint8) for level in (0, 104, 255))
    for sources, fused in [([black, white], grey), ([grey, grey], white), ([white, grey], black)]:
        assert math.isfinite(value(metric, sources, fused))


@EVERY_METRIC
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (10, 12), (13, 17), (40, 60)])
def test_tiny_images_have_a_value_or_are_refused(rng, metric, shape):
    a, b, fused = rng.integers(0, 256, (3, *shape)).astype(np.uint8)
    side = shape[0] if metric.key == "SD" else min(shape)
    needed = UNDEFINED_BELOW.get(metric.key, 1)
    if side < needed:
        with pytest.raises(InputError, match=r"needs at least"):
            value(metric, [a, b], fused)
    else:
        assert math.isfinite(value(metric, [a, b], fused))


@EVERY_METRIC
def test_images_of_the_smallest_size_have_a_value(rng, metric):
    side = UNDEFINED_BELOW.get(metric.key, 1)
    a, b, fused = rng.integers(0, 256, (3, side, side)).astype(np.uint8)
    assert math.isfinite(value(metric, [a, b], fused))


@EVERY_METRIC
def test_threads_do_not_move_a_bit(rng, metric):
    a, b, fused = rng.integers(0, 256, (3, 700, 300)).astype(np.uint8)  # several bands
    values = set()
    for threads in (1, 2, 5):
        with limit_threads(threads):
            values.add(value(metric, [a, b], fused))
    assert len(values) == 1


@EVERY_METRIC
def test_images_are_left_alone(scene, metric):
    sources, fused = scene
    before = [image.copy() for image in (*sources, fused)]
    value(metric, sources, fused)
    for image, copy in zip((*sources, fused), before, strict=True):
        np.testing.assert_array_equal(image, copy)


GREY = np.zeros((5, 7), np.uint8)


@METRICS_OF_SOURCES
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
        metric.function(sources, fused)


@pytest.mark.parametrize("metric", [metrics.ssim, metrics.mse, metrics.psnr])
def test_a_reference_of_another_size_or_type_is_refused(metric):
    with pytest.raises(InputError, match="the reference is 8 x 5 pixels, the image is 7 x 5"):
        metric(np.zeros((5, 8), np.uint8), GREY)
    with pytest.raises(InputError, match="the reference is uint16, the image is uint8"):
        metric(GREY.astype(np.uint16), GREY)


@EVERY_METRIC
def test_nan_and_a_bad_range_are_named(metric):
    image = np.zeros(SIZE)
    with pytest.raises(InputError, match="image holds NaN"):
        value(metric, [image, image], np.full(SIZE, np.nan), data_range=1.0)
    with pytest.raises(InputError, match="data_range must be a number above 0, got 0"):
        value(metric, [image, image], image, data_range=0.0)


@pytest.mark.parametrize(
    ("metric", "option"), [(metrics.qabf, "variant"), (metrics.te, "variant"), (metrics.fmi, "feature")]
)
def test_unknown_variants_are_refused_with_the_known_ones(metric, option):
    with pytest.raises(InputError, match=f"there is no {option} 'mine' of {metric.__name__}; known: "):
        metric([GREY, GREY], GREY, **{option: "mine"})
