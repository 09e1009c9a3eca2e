"""Where the image sets are, and a generator of fixed seed."""

import os
from pathlib import Path

import numpy as np
import pytest

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
