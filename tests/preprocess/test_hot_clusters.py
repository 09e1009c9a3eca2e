"""Hot pixels that demosaicing or JPEG has spread are found and filled; small detail of the scene is not."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import convolve, gaussian_filter

from panfocus.preprocess.hot_clusters import find_clusters
from panfocus.preprocess.hot_pixels import find_hot_pixels
from panfocus.simulate import apply_defocus
from textures import as_bytes, texture

PLACES = [(y, x) for y in (25, 64, 95, 126) for x in (21, 60, 103)]  # on both sides of row 128
BILINEAR = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 4


def scene(n=4, shape=(152, 128), radii=None):
    """Return colour frames (n, h, w, 3), each blurred by a different radius."""
    planes = [0.3 + 0.2 * texture(shape, seed) for seed in (1, 2, 3)]
    radii = radii or [1.0 + k for k in range(n)]
    return np.stack(
        [as_bytes(np.stack([apply_defocus(each, radius) for each in planes], axis=2)) for radius in radii]
    )


def demosaiced(frames, amount=150):
    """Add hot red sensor pixels, which bilinear demosaicing spreads to 3 x 3 pixels."""
    excess = np.zeros(frames.shape[1:3])
    excess[tuple(np.transpose(PLACES))] = amount
    hot = frames.astype(float)
    hot[..., 0] += convolve(excess, BILINEAR)
    return np.clip(np.rint(hot), 0, 255).astype(np.uint8)


def as_jpeg(frames, quality, subsampling):
    decoded = []
    for frame in frames:
        file = io.BytesIO()
        Image.fromarray(frame).save(file, "JPEG", quality=quality, subsampling=subsampling)
        decoded.append(np.asarray(Image.open(file)))
    return np.stack(decoded)


def error(frames, truth):
    """Return the root mean square difference in 9 x 9 pixels around the defects."""
    parts = [np.s_[:, y - 4 : y + 5, x - 4 : x + 5] for y, x in PLACES]
    return np.sqrt(np.mean([(frames[p].astype(float) - truth[p]) ** 2 for p in parts]))


@pytest.mark.parametrize(("quality", "subsampling"), [(None, 0), (92, 0), (92, 2)])
def test_spread_hot_pixels_are_filled(quality, subsampling):
    clean = scene()
    hot = demosaiced(clean)
    if quality:
        clean, hot = as_jpeg(clean, quality, subsampling), as_jpeg(hot, quality, subsampling)
    found = find_hot_pixels(hot)
    distances = [min(np.hypot(y - a, x - b) for a, b in PLACES) for y, x, _ in found.clusters]
    assert len(distances) >= 10
    assert max(distances) < 3
    assert found.n_doubtful == 0
    repaired = found.repair(hot)[:]
    assert error(repaired, clean) < error(hot, clean) / 2.5


def test_dead_clusters_are_filled():
    frames = scene()
    dead = frames.copy()
    for y, x in PLACES:
        dead[:, y : y + 2, x : x + 2] = 0
    found = find_hot_pixels(dead)
    assert len(found.clusters) >= 10
    assert error(found.repair(dead)[:], frames) < error(dead, frames) / 2


@pytest.mark.parametrize("detail", ["star", "glint", "line", "corner"])
def test_small_detail_is_not_filled(detail):
    radii = [2.0] * 4 if detail == "star" else None  # then nothing changes its focus
    frames = scene(radii=radii).astype(float)
    point = np.zeros(frames.shape[1:3])
    if detail in ("star", "glint"):
        point[tuple(np.transpose(PLACES))] = 1
    elif detail == "line":
        point[20:120, 60:62] = 0.5
    else:
        point[60:, 60:] = 0.5
    for k in range(len(frames)):
        # A glint is blurred like the scene, and clipped; the other details are as sharp in every frame.
        width = 0.7 + 0.5 * k if detail == "glint" else 0.7
        amount = 2 * np.pi * 0.7**2 * (400 if detail == "glint" else 150)
        frames[k] += amount * gaussian_filter(point, width)[..., None]
    found = find_hot_pixels(np.clip(np.rint(frames), 0, 255).astype(np.uint8))
    assert len(found.clusters) == 0
    assert found.n_doubtful == (len(PLACES) if detail == "star" else 0)


def test_doubtful_clusters_are_filled_on_request():
    hot = demosaiced(scene(radii=[3.0] * 4))
    assert find_hot_pixels(hot).n_doubtful >= 10
    found = find_hot_pixels(hot, in_pairs=True)
    assert (len(found.clusters) >= 10, found.n_doubtful) == (True, 0)


def test_two_frames_have_no_clusters():
    hot = demosaiced(scene(2))
    assert len(find_hot_pixels(hot, in_pairs=True).clusters) == 0


def test_too_many_clusters_are_a_pattern():
    hot = demosaiced(scene())
    assert len(find_clusters(hot, 200.0, 100)) >= 10
    assert len(find_clusters(hot, 200.0, 5)) == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_repaired_rectangle_equals_the_repaired_whole(dtype):
    hot = demosaiced(scene())
    hot[:, 70, 60] = 255  # a single hot pixel near a cluster
    scale = {np.uint8: 1, np.uint16: 257, np.float32: 1 / 255}[dtype]
    hot = (hot * np.array(scale)).astype(dtype)
    found = find_hot_pixels(hot)
    assert len(found.clusters) >= 10
    view = found.repair(hot)
    whole = view[:]
    assert whole.dtype == dtype
    for y, x in PLACES[3:6]:
        for top in range(y - 4, y + 5):
            rows, cols = slice(top, top + 3), slice(x - 1, x + 9)
            np.testing.assert_array_equal(view[1, rows, cols], whole[1, rows, cols])
            wide = (slice(top - 7, top + 10), slice(x - 8, x + 16))  # 7 more pixels on each side
            part = found.within(*wide).repair(hot[:, *wide])
            np.testing.assert_array_equal(part[:, 7:10, 7:17], whole[:, rows, cols])
