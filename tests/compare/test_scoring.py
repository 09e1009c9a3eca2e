"""Scores of images: conversion to grey, colour metrics, and checks of options."""

import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio

from panfocus.compare.scoring import score_files, score_images
from panfocus.errors import InputError
from panfocus.metrics import matlab_gray

KEYS = ("NMI", "QABF", "QCB", "TE", "MSE")


def scores(pictures, convert):
    *sources, fused = map(convert, pictures)
    return score_images(sources, fused, sources[0], keys=KEYS)


def wide(picture):
    return picture.astype(np.uint16) * 257


def test_grey_images_score_the_same_in_8_and_16_bit(small_scenes):
    grey = [picture[..., 1] for picture in small_scenes["cup"]]
    assert scores(grey, wide) == scores(grey, lambda picture: picture)


def test_8_bit_grey_is_rounded(small_scenes):
    colour = small_scenes["cup"]
    eight, sixteen = scores(colour, lambda picture: picture), scores(colour, wide)
    floats = scores(colour, lambda picture: picture / 255)
    assert floats["QABF"] == pytest.approx(sixteen["QABF"], abs=1e-5)
    assert abs(eight["QABF"] - sixteen["QABF"]) > 1e-4
    assert scores(colour, lambda picture: wide(matlab_gray(picture))) == eight


def test_colour_scores_ignore_the_border_and_alpha(small_scenes):
    *sources, reference = small_scenes["cup"]
    fused = sources[0].copy()
    fused[:3] = 0  # inside the cropped border
    inner = np.s_[3:-3, 3:-3]
    expected = peak_signal_noise_ratio(reference[inner], fused[inner])
    options = {"keys": ["PSNR_RGB"], "crop": 3}
    found = score_images(sources, fused, reference, **options)
    assert found == {"PSNR_RGB": pytest.approx(expected, rel=1e-14)}
    alpha = np.random.default_rng(0).integers(0, 256, fused.shape[:2], np.uint8)
    assert score_images(sources, np.dstack([fused, alpha]), reference, **options) == found


def test_grey_images_have_no_psnr_rgb(small_scenes):
    *sources, reference = small_scenes["cup"][..., 1]
    found = score_images(sources, sources[0], reference, keys=["PSNR", "PSNR_RGB"])
    assert list(found) == ["PSNR"]
    # A grey image in three channels has both, and they are equal.
    coloured = np.stack([sources[0]] * 3, axis=-1), np.stack([reference] * 3, axis=-1)
    both = score_images(sources, *coloured, keys=["PSNR", "PSNR_RGB"])
    assert both == {"PSNR": found["PSNR"], "PSNR_RGB": pytest.approx(found["PSNR"], rel=1e-14)}


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"keys": ["NMI", "NMI"]}, "metrics"),
        ({"keys": ["BEAUTY"]}, "metrics"),
        ({"crop": -1}, "crop"),
        ({"data_range": float("inf")}, "data_range"),
    ],
)
def test_wrong_score_options_are_rejected_before_files_are_read(options, setting):
    with pytest.raises(InputError) as caught:
        score_files("missing.png", ["missing.tif"], **options)
    assert caught.value.facts["setting"] == setting
