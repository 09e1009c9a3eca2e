"""Properties of every metric."""

import math

import numpy as np
import pytest

from panfocus import metrics
from panfocus._threads import limit_threads
from panfocus.errors import InputError
from panfocus.metrics import CATALOGUE

SIZE = (43, 47)  # odd, not square, and just large enough for every window


def value(metric, sources, fused, **options):
    """Call a metric with the arguments of its kind; the first source is the reference."""
    if metric.colour:  # three equal channels behave like grey
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
    [metric for metric in CATALOGUE if metric.kind == "sources" and not metric.pairs_only],
    ids=lambda metric: metric.key,
)

# Smallest side of an image in pixels, because of the window of the metric; rows for SD. Others take any size.
UNDEFINED_BELOW = {"QY": 7, "QW": 8, "QC": 8, "SSIM": 11, "VIFF": 41, "FMI": 3, "SD": 2}

# Documented values of equal and of constant images; a metric without an entry must have a value other than
# NaN. Metrics that are missing in the first table depend on the image: on its entropy (QNCIE, TE), on its
# features (QP), or on the fused image alone.
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
def test_16_bit_images_score_like_8_bit_images(scene, metric):
    sources, fused = scene
    *wide, wide_fused = (image.astype(np.uint16) * 257 for image in (*sources, fused))
    assert value(metric, wide, wide_fused) == value(metric, sources, fused)


@EVERY_METRIC
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_float_images_score_like_8_bit_images(scene, metric, dtype, tolerance):
    sources, fused = scene
    *floats, fused_float = (image.astype(dtype) / dtype(255) for image in (*sources, fused))
    expected = value(metric, sources, fused)
    assert value(metric, floats, fused_float, data_range=1.0) == pytest.approx(expected, rel=tolerance)


@EVERY_METRIC
def test_data_range_sets_white(scene, metric):
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
    found = value(metric, [image, image], image)
    assert found == pytest.approx(OF_CONSTANT_IMAGES.get(metric.key, found), abs=1e-6)  # NaN equals nothing


@EVERY_METRIC
def test_different_constant_images_have_a_finite_value(metric):
    black, grey, white = (np.full(SIZE, level, np.uint8) for level in (0, 104, 255))
    for sources, fused in [([black, white], grey), ([grey, grey], white), ([white, grey], black)]:
        assert math.isfinite(value(metric, sources, fused))


@EVERY_METRIC
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (10, 12), (40, 60)])
def test_tiny_images_have_a_value_or_are_rejected(rng, metric, shape):
    a, b, fused = rng.integers(0, 256, (3, *shape)).astype(np.uint8)
    side = shape[0] if metric.key == "SD" else min(shape)
    needed = UNDEFINED_BELOW.get(metric.key, 1)
    if side < needed:
        with pytest.raises(InputError) as caught:
            value(metric, [a, b], fused)
        assert caught.value.facts["needed"] == needed
    else:
        assert math.isfinite(value(metric, [a, b], fused))


@EVERY_METRIC
def test_images_of_the_smallest_size_have_a_value(rng, metric):
    side = UNDEFINED_BELOW.get(metric.key, 1)
    a, b, fused = rng.integers(0, 256, (3, side, side)).astype(np.uint8)
    assert math.isfinite(value(metric, [a, b], fused))


@EVERY_METRIC
def test_threads_do_not_change_the_bits(rng, metric, monkeypatch):
    monkeypatch.setattr("panfocus.metrics._images._BAND_PIXELS", 10 * SIZE[1])  # several bands
    a, b, fused = rng.integers(0, 256, (3, *SIZE)).astype(np.uint8)
    values = set()
    for threads in (1, 4):
        with limit_threads(threads):
            values.add(value(metric, [a, b], fused))
    assert len(values) == 1


@EVERY_METRIC
def test_images_are_not_modified(scene, metric):
    sources, fused = scene
    before = [image.copy() for image in (*sources, fused)]
    value(metric, sources, fused)
    for image, copy in zip((*sources, fused), before, strict=True):
        np.testing.assert_array_equal(image, copy)


GREY = np.zeros((5, 7), np.uint8)


@METRICS_OF_SOURCES
@pytest.mark.parametrize(
    ("sources", "fused", "facts"),
    [
        ([GREY], GREY, {"got": 1, "needed": 2}),
        ([], GREY, {"got": 0, "needed": 2}),
        ([GREY, np.zeros((5, 7, 3), np.uint8)], GREY, {"got": (5, 7, 3)}),
        ([GREY, np.zeros((5, 8), np.uint8)], GREY, {"got": (5, 8), "needed": (5, 7)}),
        ([GREY, GREY.astype(np.uint16)], GREY, {"got": "uint16", "needed": "uint8"}),
        ([GREY.astype(np.int64)] * 2, GREY.astype(np.int64), {"got": "int64"}),
        ([GREY.astype(float)] * 2, GREY.astype(float), {"setting": "data_range"}),
    ],
)
def test_invalid_sources_are_rejected(metric, sources, fused, facts):
    with pytest.raises(InputError) as caught:
        metric.function(sources, fused)
    assert caught.value.facts == facts


@pytest.mark.parametrize("metric", [metrics.ssim, metrics.mse, metrics.psnr])
def test_a_reference_of_another_size_or_type_is_rejected(metric):
    with pytest.raises(InputError) as caught:
        metric(np.zeros((5, 8), np.uint8), GREY)
    assert caught.value.facts == {"got": (5, 8), "needed": (5, 7)}
    with pytest.raises(InputError) as caught:
        metric(GREY.astype(np.uint16), GREY)
    assert caught.value.facts == {"got": "uint16", "needed": "uint8"}


@EVERY_METRIC
def test_nan_and_a_bad_data_range_are_rejected(metric):
    image = np.zeros(SIZE)
    with pytest.raises(InputError):
        value(metric, [image, image], np.full(SIZE, np.nan), data_range=1.0)
    with pytest.raises(InputError) as caught:
        value(metric, [image, image], image, data_range=0.0)
    assert caught.value.facts == {"setting": "data_range", "got": 0.0}


def test_messages_about_images(message):
    """Representative wording; the facts are tested above."""
    for name, sources in (
        ("metrics: sizes differ", [GREY, np.zeros((5, 8), np.uint8)]),
        ("metrics: colour", [GREY, np.zeros((5, 7, 3), np.uint8)]),
    ):
        with pytest.raises(InputError) as caught:
            metrics.nmi(sources, GREY)
        message(name, str(caught.value))


@pytest.mark.parametrize(
    ("metric", "option"), [(metrics.qabf, "variant"), (metrics.te, "variant"), (metrics.fmi, "feature")]
)
def test_unknown_variants_are_rejected(metric, option):
    with pytest.raises(InputError) as caught:
        metric([GREY, GREY], GREY, **{option: "mine"})
    assert caught.value.facts == {"setting": option, "got": "mine"}
