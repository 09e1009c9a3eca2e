"""Small cases computed by hand, metric by metric."""

import math

import numpy as np
import pytest

from panfocus.errors import InputError
from panfocus.metrics import ag, ei, en, fmi, nmi, qabf, qc, qcb, qncie, qw, qy, scd, sd, sf, te, viff


@pytest.fixture
def texture(rng):
    return rng.integers(60, 190, (64, 66)).astype(np.uint8)


def levels(*rows):
    return np.array(rows, np.uint8)


def test_nmi_adds_one_for_a_copied_source(rng):
    a, b = rng.integers(0, 256, (2, 130, 170)).astype(np.uint8)
    alone = nmi([a, a], a) / 2
    assert nmi([a, b], a) == pytest.approx(alone + nmi([b, b], a) / 2)


def test_nmi_does_not_depend_on_the_names_of_levels(rng):
    a, b = rng.integers(0, 2, (2, 13, 17)).astype(np.uint8)
    assert nmi([a, a], b) == pytest.approx(nmi([a, a], 255 - 200 * b))


def test_nmi_of_a_two_by_two_table():
    # Joint distribution (1/2, 1/4, 0, 1/4): H(s) = h(3/4), H(F) = 1, H(s, F) = 3/2 bits.
    source, fused = levels([0, 0, 0, 9]), levels([0, 0, 9, 9])
    entropy = 2 - 0.75 * np.log2(3)
    expected = 2 * 2 * (entropy + 1 - 1.5) / (entropy + 1)
    assert nmi([source, source], fused) == pytest.approx(expected, rel=1e-14)


def test_nmi_clips_floats_outside_the_range(rng):
    image = rng.random((13, 17))
    image[0, 0], image[0, 1] = 1.0, 0.0
    beyond = image.copy()
    beyond[0, 0], beyond[0, 1] = 1.7, -0.2
    assert nmi([image, image], beyond, data_range=1.0) == pytest.approx(2)


def test_qabf_has_the_documented_maximum(texture):
    assert qabf([texture] * 3, texture) == pytest.approx(0.9748, abs=5e-5)


def test_qabf_of_lost_edges_is_nearly_zero(texture):
    assert qabf([texture, texture], np.zeros_like(texture)) < 1e-3


def test_qabf_of_halved_contrast_has_the_orientation_and_half_the_strength():
    image = np.zeros((9, 11), np.uint8)
    image[:, 5:] = 100
    expected = 0.9994 / 2 * 0.9879 / (1 + math.exp(-4.4))
    # Pixels without an edge have a strength of 1e-5, which is preserved but has almost no weight.
    assert qabf([image, image], image // 2) == pytest.approx(expected, rel=1e-6)


def test_qabf_gives_strong_edges_more_weight():
    strong, weak = np.zeros((9, 11), np.uint8), np.zeros((9, 11), np.uint8)
    strong[:, 5:], weak[5:] = 200, 20
    assert qabf([strong, weak], strong) > qabf([strong, weak], weak)


def test_sf_divides_by_the_number_of_pixels():
    assert sf(levels([0, 3], [4, 0])) == pytest.approx(math.sqrt((3**2 + 4**2 + 4**2 + 3**2) / 4))


def test_ag_repeats_the_border():
    # differences to the right 3, 0, -4, 0; downwards 4, -3, 0, 0
    assert ag(levels([0, 3], [4, 0])) == pytest.approx(
        (math.sqrt(25 / 2) + 3 / math.sqrt(2) + 4 / math.sqrt(2)) / 4
    )


def test_en_counts_bits():
    assert en(levels([0, 0, 1, 2])) == pytest.approx(1.5)
    assert en(np.arange(256, dtype=np.uint8).reshape(16, 16)) == pytest.approx(8)


def test_en_of_a_constant_image_is_zero_without_a_sign():
    assert math.copysign(1, en(np.full((5, 7), 9, np.uint8))) == 1


def test_sd_averages_over_columns():
    assert sd(levels([0, 7], [4, 7])) == pytest.approx(math.sqrt(8) / 2)


def test_ei_of_a_step_is_the_sobel_magnitude():
    step = np.zeros((9, 10), np.uint8)
    step[:, 5:] = 10
    assert ei(step) == pytest.approx(2 * 40 / 10)


def test_scd_of_a_sum_of_uncorrelated_sources_is_two():
    a, b = levels([0, 0, 100, 100]), levels([0, 100, 0, 100])
    assert scd([a, b], a + b) == pytest.approx(2)


def test_scd_rejects_more_than_two_sources(texture):
    with pytest.raises(InputError) as caught:
        scd([texture] * 3, texture)
    assert caught.value.facts == {"needed": 2, "got": 3}


def test_qncie_grows_with_dependence():
    a, b = levels([0, 0, 9, 9]), levels([0, 9, 0, 9])
    independent = levels([3, 3, 3, 3])
    assert qncie([a, b], independent) == pytest.approx(1 - math.log(3, 256))
    assert qncie([a, b], a) > qncie([a, b], independent)
    assert qncie([a, b, b], independent) > 1 - math.log(4, 256)


@pytest.mark.parametrize("variant", ["z-liu", "tsallis"])
def test_te_of_two_equal_levels(variant):
    # p = (1/2, 1/2), twice: the sum of p^1.85 / p^1.7 is 2^0.85.
    image = levels([0, 9])
    assert te([image, image], image, variant=variant) == pytest.approx(2 * (2**0.85 - 1) / 0.85)


def test_te_variants_differ_for_different_histograms():
    a, f = levels([0, 0, 0, 9]), levels([0, 9, 9, 9])
    assert te([a, a], f, variant="tsallis") != pytest.approx(te([a, a], f, variant="z-liu"))


@pytest.mark.parametrize("metric", [qy, qc, qw])
def test_an_inverted_copy_scores_below_zero(texture, metric):
    assert metric([texture, texture], 255 - texture) < 0


def test_qy_uses_the_more_similar_source_where_they_disagree(rng, texture):
    assert qy([texture, np.roll(texture, 20, axis=1)], texture) == pytest.approx(1, abs=0.02)


def test_qw_weights_windows_by_contrast(rng):
    # The left half is flat in both sources; the fused image has almost no weight there.
    source = rng.integers(0, 256, (40, 80)).astype(np.uint8)
    source[:, :40] = 90
    fused = source.copy()
    fused[:, :30] += rng.integers(0, 3, (40, 30)).astype(np.uint8)
    assert qw([source, source], fused) > 0.999
    assert qy([source, source], fused) < 0.8


def test_qcb_decreases_with_contrast(texture):
    faded = (texture // 4 + 90).astype(np.uint8)
    faded[0, :2] = 0, 255  # keeps the stretch from restoring the contrast
    assert qcb([texture, texture], faded) < 0.5


def test_viff_is_above_one_for_raised_and_below_for_lowered_contrast(texture):
    raised = np.clip((texture.astype(float) - 125) * 1.3 + 125, 0, 255).astype(np.uint8)
    lowered = np.round((texture - 125.0) * 0.7 + 125).astype(np.uint8)
    assert viff([texture, texture], raised) > 1 > viff([texture, texture], lowered)


@pytest.mark.parametrize("feature", ["edge", "gradient", "none"])
def test_fmi_of_the_source_is_larger_than_of_noise(rng, texture, feature):
    noise = rng.integers(0, 256, texture.shape).astype(np.uint8)
    assert fmi([texture, texture], texture, feature=feature) == 1
    assert fmi([texture, texture], noise, feature=feature) < 0.9


def test_fmi_of_single_features_at_different_pixels_is_zero():
    one, other = np.zeros((3, 3), np.uint8), np.zeros((3, 3), np.uint8)
    one[0, 0], other[2, 1] = 9, 9
    assert fmi([one, one], other, feature="none") == 0


def test_fmi_of_proportional_windows_is_one():
    # Equal distributions have correlation 1, and coupling them fully shares all of their entropy.
    window = levels([0, 1, 2], [3, 4, 5], [6, 7, 8])
    assert fmi([window, window], 2 * window, feature="none") == pytest.approx(1)
