import math
from dataclasses import replace

import numpy as np
import pytest

from panfocus import metrics
from panfocus.errors import InputError
from panfocus.metrics import CATALOGUE, metric_of, score


@pytest.fixture
def scene(rng):
    a, b, c, fused = rng.integers(0, 256, (4, 45, 47)).astype(np.uint8)
    return [a, b, c], fused


def test_keys_are_unique_and_every_function_is_public():
    assert len({metric.key for metric in CATALOGUE}) == len(CATALOGUE)
    for metric in CATALOGUE:
        function = getattr(metric.function, "func", metric.function)
        assert getattr(metrics, function.__name__) is function
    assert [metric.key for metric in CATALOGUE if metric.better == "smaller"] == ["MSE"]


def test_two_sources_and_a_reference_have_every_value(scene):
    (a, b, reference), fused = scene
    colours = tuple(np.dstack([a, b, image]) for image in (reference, fused))
    scores = score([a, b], fused, reference=reference, colours=colours)
    per_source = ["SSIM_AF", "SSIM_BF", "MSE_AF", "MSE_BF"]
    assert sorted(scores) == sorted([metric.key for metric in CATALOGUE] + per_source)
    assert scores["MSE"] == metrics.mse(reference, fused)
    assert scores["PSNR_RGB"] == metrics.psnr_rgb(*colours)
    assert scores["MSE_BF"] == metrics.mse(b, fused)
    assert scores["QABF_zliu"] == metrics.qabf([a, b], fused, variant="z-liu")


def test_without_a_reference_its_metrics_are_left_out(scene):
    (a, b, _), fused = scene
    colours = (np.dstack([a] * 3), np.dstack([fused] * 3))
    assert score([a, b], fused, colours=colours).keys() & {"SSIM", "MSE", "PSNR", "PSNR_RGB"} == set()


def test_grey_images_have_no_psnr_rgb(scene):
    (a, b, reference), fused = scene
    assert "PSNR_RGB" not in score([a, b], fused, reference=reference)
    half = (np.dstack([reference] * 3), fused)
    assert "PSNR_RGB" not in score([a, b], fused, reference=reference, colours=half)
    with pytest.raises(InputError, match="psnr_rgb needs colour"):
        score([a, b], fused, reference=reference, keys=["PSNR_RGB"], complete=True)


def test_three_sources_have_three_letters_and_no_scd(scene):
    sources, fused = scene
    scores = score(sources, fused)
    assert "SCD" not in scores
    assert {"SSIM_AF", "SSIM_BF", "SSIM_CF"} <= scores.keys()


def test_what_does_not_fit_into_the_image_is_left_out():
    image = np.zeros((9, 30), np.uint8)
    scores = score([image, image], image, reference=image)
    assert scores.keys() & {"SSIM", "SSIM_AF", "VIFF"} == set()
    assert {"QY", "QW", "QC", "FMI", "MSE"} <= scores.keys()


def test_only_wanted_keys_are_computed_in_the_order_of_the_catalogue(scene, monkeypatch):
    (a, b, _), fused = scene

    def fail(*_, **__):
        raise AssertionError

    wanted = {"NMI", "SSIM_BF"}
    watched = tuple(m if m.key in {"NMI", "SSIM"} else replace(m, function=fail) for m in CATALOGUE)
    monkeypatch.setattr(metrics.catalogue, "CATALOGUE", watched)
    assert list(score([a, b], fused, keys=wanted)) == ["NMI", "SSIM_BF"]


def test_bad_images_are_an_error_not_a_gap(scene):
    (a, b, _), fused = scene
    with pytest.raises(InputError, match="source 1 is 30 x 45 pixels"):
        score([a, b[:, :30]], fused)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("PSNR", "PSNR needs a reference"),
        ("PSNR_RGB", "PSNR_RGB needs a reference"),
        ("SCD", "SCD is defined for two sources only, there are 3"),
        ("SSIM_DF", "SSIM_DF needs 4 sources, there are 3"),
        ("MSE_ZF", "MSE_ZF needs 26 sources"),
        ("VIFF", "viff needs at least 41 x 41 pixels"),
    ],
)
def test_a_complete_score_says_why_a_key_has_no_value(scene, key, words):
    sources, fused = ([image[:30] for image in scene[0]], scene[1][:30])
    assert key not in score(sources, fused, keys=["NMI", key])
    with pytest.raises(InputError, match=words):
        score(sources, fused, keys=["NMI", key], complete=True)


@pytest.mark.parametrize("key", ["SSIM", "SSIM_AF", "SSIM_ABF"])
def test_the_metric_of_a_key_is_found(key):
    assert metric_of(key).key == "SSIM"


@pytest.mark.parametrize("key", ["SSIM_", "SSIM_F", "ssim", "PSNR_AF", "QABF_AF", "SSIM_aF", "SSIM_ÄF", ""])
def test_unknown_keys_are_refused_with_the_known_ones(scene, key):
    (a, b, _), fused = scene
    with pytest.raises(
        InputError, match=r"there is no metric .*; known: NMI, QABF, .*PSNR, .*SSIM_AF, SSIM_BF, .*MSE_AF"
    ):
        score([a, b], fused, keys=[key])


def test_letters_go_on_after_z():
    letters = [metrics.catalogue.source_letters(i) for i in (0, 1, 25, 26, 27, 51, 52, 701, 702)]
    assert letters == ["A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]
    assert [metrics.catalogue.source_number(name) - 1 for name in letters] == [
        0,
        1,
        25,
        26,
        27,
        51,
        52,
        701,
        702,
    ]


def test_equal_images_have_infinite_psnr(scene):
    (a, b, _), _ = scene
    assert score([a, b], a, reference=a, keys=["PSNR"]) == {"PSNR": math.inf}
