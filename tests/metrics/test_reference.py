"""SSIM, MSE and PSNR beside scikit-image's, which are independent."""

import numpy as np
import pytest
from skimage import metrics as skimage_metrics

from panfocus.metrics import mse, psnr, ssim


@pytest.fixture
def images(rng):
    reference = rng.integers(0, 256, (83, 61))
    return [
        np.clip(reference + noise, 0, 255).astype(np.uint8) for noise in (0, rng.integers(-40, 40, (83, 61)))
    ]


def test_ssim_is_that_of_scikit_image_over_windows_within_the_image(images):
    reference, image = (plane.astype(float) for plane in images)
    _, everywhere = skimage_metrics.structural_similarity(
        reference,
        image,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        data_range=255,
        full=True,
    )
    assert ssim(*images) == pytest.approx(everywhere[5:-5, 5:-5].mean(), abs=1e-12)


def test_mse_and_psnr_are_those_of_scikit_image(images):
    assert mse(*images) == pytest.approx(skimage_metrics.mean_squared_error(*images), rel=1e-14)
    assert psnr(*images) == pytest.approx(skimage_metrics.peak_signal_noise_ratio(*images), rel=1e-14)


def test_reference_and_image_may_change_places(images):
    for metric in (ssim, mse, psnr):
        assert metric(*images) == pytest.approx(metric(*images[::-1]), rel=1e-13)


def test_one_level_of_difference_everywhere():
    image = np.full((13, 17), 100, np.uint8)
    assert mse(image, image + np.uint8(1)) == 1
    assert psnr(image, image + np.uint8(1)) == pytest.approx(20 * np.log10(255))
    assert mse(image / 255, (image + 1) / 255, data_range=1.0) == pytest.approx(1)


def test_ssim_of_constant_images_is_the_likeness_of_their_levels():
    dark, light = (np.full((13, 17), level, np.uint8) for level in (50, 100))
    C1 = 2.55**2
    assert ssim(dark, light) == pytest.approx((2 * 50 * 100 + C1) / (50**2 + 100**2 + C1))
