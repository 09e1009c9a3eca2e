"""Where the image sets are, and a generator of fixed seed."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus.io.write import write_image

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PANFOCUS_DATA", ROOT.parent / "shared" / "data"))
GOLDEN = DATA.parent / "golden"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    if not DATA.is_dir():
        pytest.skip("no image sets: set PANFOCUS_DATA to their folder")
    return DATA


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    if not GOLDEN.is_dir():
        pytest.skip("no golden values: they are looked for in a folder 'golden' beside PANFOCUS_DATA")
    return GOLDEN


@pytest.fixture(scope="session")
def small_scenes() -> dict[str, np.ndarray]:
    """Colour scenes by name, (frames A and B, reference; 40 x 33): A is sharp on the left, B on the right."""
    rng = np.random.default_rng(11)
    scenes = {}
    for name in ("box-2", "box-10", "cup"):
        sharp = gaussian_filter(rng.random((40, 33, 3)), (0.6, 0.6, 0))
        a, b = sharp.copy(), sharp.copy()
        soft = gaussian_filter(sharp, (2, 2, 0))
        a[:, 16:], b[:, :16] = soft[:, 16:], soft[:, :16]
        scenes[name] = np.rint(255 * np.stack([a, b, sharp])).astype(np.uint8)
    return scenes


@pytest.fixture
def scenes_dir(tmp_path, small_scenes) -> Path:
    """A folder `scenes` with these pictures."""
    folder = tmp_path / "scenes"
    folder.mkdir()
    for name, pictures in small_scenes.items():
        for part, picture in zip(("A", "B", "GT"), pictures, strict=True):
            write_image(folder / f"{name}-{part}.png", picture)
    return folder


@pytest.fixture
def average_dir(tmp_path, small_scenes) -> Path:
    """A folder `average` with results, as another program would have written them."""
    folder = tmp_path / "average"
    folder.mkdir()
    for name, pictures in small_scenes.items():
        write_image(folder / f"{name}_fused.png", np.rint(pictures[:2].mean(axis=0)).astype(np.uint8))
    return folder
