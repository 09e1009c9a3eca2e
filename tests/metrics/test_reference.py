"""SSIM, MSE, PSNR and PSNR_RGB, compared with scikit-image."""

import numpy as np
import pytest
from skimage import metrics as skimage_metrics

from panfocus.errors import InputError
from panfocus.metrics import mse, psnr, psnr_rgb, ssim


@pytest.fixture
def images(rng):
    reference = rng.integers(0, 256, (83, 61))
    return [
        np.clip(reference + noise, 0, 255).astype(np.uint8) for noise in (0, rng.integers(-40, 40, (83, 61)))
    ]


def test_ssim_matches_scikit_image(images):
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


def test_mse_and_psnr_match_scikit_image(images):
    assert mse(*images) == pytest.approx(skimage_metrics.mean_squared_error(*images), rel=1e-14)
    assert psnr(*images) == pytest.approx(skimage_metrics.peak_signal_noise_ratio(*images), rel=1e-14)


@pytest.fixture
def coloured(rng):
    """A reference and an image whose channels differ from it by 3, 10 and 20 levels and more."""
    reference = rng.integers(0, 256, (83, 61, 3))
    noise = rng.normal(0, (3, 10, 20), reference.shape)
    return [np.clip(np.rint(reference + part), 0, 255).astype(np.uint8) for part in (0, noise)]


def test_psnr_rgb_matches_scikit_image(coloured):
    expected = skimage_metrics.peak_signal_noise_ratio(*coloured)
    assert psnr_rgb(*coloured) == pytest.approx(expected, rel=1e-14)
    wide = [image.astype(np.uint16) * 257 for image in coloured]
    assert psnr_rgb(*wide) == psnr_rgb(*coloured)
    floats = [image / 255 for image in coloured]
    assert psnr_rgb(*floats, data_range=1.0) == pytest.approx(expected, rel=1e-12)


def test_psnr_rgb_uses_the_mean_error_of_all_channels():
    """One channel of three is off by 30 levels: the mean squared error is 300."""
    reference = np.full((13, 17, 3), 100, np.uint8)
    image = reference + np.array([0, 30, 0], np.uint8)
    assert psnr_rgb(reference, image) == pytest.approx(10 * np.log10(255**2 / 300))


def test_psnr_rgb_ignores_alpha(coloured, rng):
    alphas = [np.dstack([image, rng.integers(0, 256, (83, 61), np.uint8)]) for image in coloured]
    assert psnr_rgb(*alphas) == psnr_rgb(*coloured) == psnr_rgb(coloured[0], alphas[1])


@pytest.mark.parametrize("channels", [(), (1,), (2,)])
def test_psnr_rgb_rejects_grey(coloured, channels):
    grey = np.zeros((83, 61, *channels), np.uint8)
    for images in ((coloured[0], grey), (grey, coloured[1])):
        with pytest.raises(InputError) as caught:
            psnr_rgb(*images)
        assert caught.value.facts["got"] == grey.shape


def test_psnr_rgb_rejects_another_size_or_type(coloured):
    with pytest.raises(InputError) as caught:
        psnr_rgb(coloured[0][:, 1:], coloured[1])
    assert caught.value.facts == {"got": (83, 60), "needed": (83, 61)}
    with pytest.raises(InputError) as caught:
        psnr_rgb(coloured[0].astype(np.uint16), coloured[1])
    assert caught.value.facts == {"got": "uint16", "needed": "uint8"}


def test_metrics_are_symmetric(images):
    for metric in (ssim, mse, psnr):
        assert metric(*images) == pytest.approx(metric(*images[::-1]), rel=1e-13)


def test_a_difference_of_one_level_everywhere():
    image = np.full((13, 17), 100, np.uint8)
    assert mse(image, image + np.uint8(1)) == 1
    assert psnr(image, image + np.uint8(1)) == pytest.approx(20 * np.log10(255))
    assert mse(image / 255, (image + 1) / 255, data_range=1.0) == pytest.approx(1)


def test_ssim_of_constant_images():
    dark, light = (np.full((13, 17), level, np.uint8) for level in (50, 100))
    C1 = 2.55**2
    assert ssim(dark, light) == pytest.approx((2 * 50 * 100 + C1) / (50**2 + 100**2 + C1))
