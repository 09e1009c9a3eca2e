import math
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import panfocus as pf
from panfocus import metrics
from panfocus.errors import InputError
from panfocus.metrics import CATALOGUE, Metric, get_metric, metric_names, score
from panfocus.metrics._images import UndefinedError


@pytest.fixture
def scene(rng):
    a, b, c, fused = rng.integers(0, 256, (4, 45, 47)).astype(np.uint8)
    return [a, b, c], fused


def test_keys_are_unique_and_functions_are_public():
    assert len({metric.key for metric in CATALOGUE}) == len(CATALOGUE)
    for metric in CATALOGUE:
        function = getattr(metric.function, "func", metric.function)
        assert getattr(metrics, function.__name__) is function
    assert get_metric("MSE").better == "smaller"


def test_two_sources_and_a_reference_give_every_metric(scene):
    (a, b, reference), fused = scene
    colours = tuple(np.dstack([a, b, image]) for image in (reference, fused))
    scores = score([a, b], fused, reference=reference, colours=colours)
    per_source = ["SSIM_AF", "SSIM_BF", "MSE_AF", "MSE_BF"]
    assert sorted(scores) == sorted([metric.key for metric in CATALOGUE] + per_source)
    assert scores["MSE"] == metrics.mse(reference, fused)
    assert scores["PSNR_RGB"] == metrics.psnr_rgb(*colours)
    assert scores["MSE_BF"] == metrics.mse(b, fused)
    assert scores["QABF_zliu"] == metrics.qabf([a, b], fused, variant="z-liu")


def test_reference_metrics_need_a_reference(scene):
    (a, b, _), fused = scene
    colours = (np.dstack([a] * 3), np.dstack([fused] * 3))
    assert score([a, b], fused, colours=colours).keys() & {"SSIM", "MSE", "PSNR", "PSNR_RGB"} == set()


def test_grey_images_give_no_psnr_rgb(scene):
    (a, b, reference), fused = scene
    assert "PSNR_RGB" not in score([a, b], fused, reference=reference)
    half = (np.dstack([reference] * 3), fused)
    assert "PSNR_RGB" not in score([a, b], fused, reference=reference, colours=half)
    with pytest.raises(UndefinedError):
        score([a, b], fused, reference=reference, keys=["PSNR_RGB"], complete=True)


def test_three_sources_give_three_ssim_and_no_scd(scene):
    sources, fused = scene
    scores = score(sources, fused)
    assert "SCD" not in scores
    assert {"SSIM_AF", "SSIM_BF", "SSIM_CF"} <= scores.keys()


def test_metrics_with_windows_larger_than_the_image_are_left_out():
    image = np.zeros((9, 30), np.uint8)
    scores = score([image, image], image, reference=image)
    assert scores.keys() & {"SSIM", "SSIM_AF", "VIFF"} == set()
    assert {"QY", "QW", "QC", "FMI", "MSE"} <= scores.keys()


def test_only_requested_keys_are_computed_in_catalogue_order(scene, monkeypatch):
    (a, b, _), fused = scene

    def fail(*_, **__):
        raise AssertionError

    wanted = {"NMI", "SSIM_BF"}
    watched = tuple(m if m.key in {"NMI", "SSIM"} else replace(m, function=fail) for m in CATALOGUE)
    monkeypatch.setattr(metrics.catalogue, "CATALOGUE", watched)
    assert list(score([a, b], fused, keys=wanted)) == ["NMI", "SSIM_BF"]


def test_invalid_images_are_an_error(scene):
    (a, b, _), fused = scene
    with pytest.raises(InputError):
        score([a, b[:, :30]], fused)


@pytest.mark.parametrize("key", ["PSNR", "PSNR_RGB", "SCD", "SSIM_DF", "MSE_ZF", "VIFF"])
def test_a_requested_metric_without_a_value_is_an_error_if_complete(scene, key):
    sources, fused = ([image[:30] for image in scene[0]], scene[1][:30])
    assert key not in score(sources, fused, keys=["NMI", key])
    with pytest.raises(UndefinedError):
        score(sources, fused, keys=["NMI", key], complete=True)


@pytest.mark.parametrize("key", ["SSIM", "SSIM_AF", "SSIM_ABF"])
def test_keys_of_single_sources_belong_to_their_metric(key):
    assert get_metric(key).key == "SSIM"


@pytest.mark.parametrize("key", ["SSIM_", "SSIM_F", "ssim", "PSNR_AF", "QABF_AF", "SSIM_aF", "SSIM_ÄF", ""])
def test_unknown_keys_are_rejected(scene, key):
    (a, b, _), fused = scene
    with pytest.raises(InputError) as caught:
        score([a, b], fused, keys=[key])
    assert caught.value.facts == {"setting": "metrics", "got": key}


def mean_difference(sources, fused):
    """The recipe of CONTRIBUTING.md: how far the fused image is from the mean of its sources."""
    return -float(np.abs(np.mean(sources, axis=0) - fused).mean())


def test_recipe_one_entry_in_the_catalogue_adds_a_metric(scene, monkeypatch):
    (a, b, _), fused = scene

    def md(sources, fused, *, data_range=None):
        return mean_difference(sources, fused)

    mine = Metric("MD", "Mean difference", "sources", "larger", "distance from the mean of the sources", md)
    monkeypatch.setattr(metrics.catalogue, "CATALOGUE", (*CATALOGUE, mine))
    assert metric_names()[-1] == "MD"
    assert get_metric("MD") is mine
    assert score([a, b], fused, keys=["MD"]) == {"MD": mean_difference([a, b], fused)}
    assert "MD" in score([a, b], fused)


def test_recipe_an_entry_point_adds_a_metric(scene, monkeypatch):
    (a, b, _), fused = scene
    entry = EntryPoint("MD", f"{__name__}:mean_difference", "panfocus.metrics")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[mean_difference.__module__])
    monkeypatch.setattr(
        metrics.catalogue, "entry_points", lambda group: [entry] if group == "panfocus.metrics" else []
    )
    metrics.catalogue._registered.cache_clear()
    try:
        assert metric_names() == [*(metric.key for metric in CATALOGUE), "MD"]
        assert score([a, b], fused, keys=["MD"]) == {"MD": mean_difference([a, b], fused)}
    finally:
        metrics.catalogue._registered.cache_clear()


def test_public_names_list_metrics_and_methods():
    assert pf.metric_names() == metric_names()
    assert {"panfocus", "coupled", "dsift"} <= set(pf.method_names())


def test_source_letters_continue_after_z():
    indices = [0, 1, 25, 26, 27, 51, 52, 701, 702]
    letters = [metrics.catalogue.source_letters(i) for i in indices]
    assert letters == ["A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]
    assert [metrics.catalogue.source_number(name) - 1 for name in letters] == indices


def test_equal_images_have_infinite_psnr(scene):
    (a, b, _), _ = scene
    assert score([a, b], a, reference=a, keys=["PSNR"]) == {"PSNR": math.inf}
