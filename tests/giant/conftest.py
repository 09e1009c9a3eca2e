import numpy as np
import pytest
from scipy.ndimage import gaussian_filter


def render(height, width, n=3, seed=3):
    """Slices (n, h, w) in 16 bit, sharp in bands that cross each other; hot pixels, and a brighter slice."""
    rng = np.random.default_rng(seed)
    sharp = gaussian_filter(rng.random((height, width)), 0.8)
    sharp = 0.1 + 0.7 * (sharp - sharp.min()) / np.ptp(sharp)
    y, x = np.mgrid[:height, :width]
    depth = (x / width + 0.3 * np.sin(y / 90)) % 1 * n
    stack = np.stack([np.where(depth.astype(int) == k, sharp, gaussian_filter(sharp, 2.5)) for k in range(n)])
    stack[-1] *= 1.08
    stack = np.rint(stack * 40000).astype(np.uint16)
    stack[:, [40, 255, 256, 300], [17, 256, 299, 512 % width]] = 65535
    return stack


@pytest.fixture(scope="session")
def slices():
    return render(700, 610)


@pytest.fixture
def store(tmp_path, slices):
    """An OME-Zarr of ome-zarr-py, 0.4, with one channel."""
    from ome_zarr.format import FormatV04
    from ome_zarr.writer import write_image

    path = tmp_path / "stack.ome.zarr"
    write_image(
        slices,
        str(path),
        fmt=FormatV04(),
        axes="zyx",
        scale={"z": 2.0, "y": 0.5, "x": 0.25},
        axes_units=dict.fromkeys("zyx", "micrometer"),
        scale_factors=(),
        storage_options={"chunks": (1, 200, 150)},
    )
    return path
