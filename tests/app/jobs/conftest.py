"""One server with real worker processes for all tests of jobs, and stacks for it."""

import numpy as np
import pytest
from job_steps import SIZE, job_of, serving, stack_of, wait
from PIL import Image
from scipy.ndimage import gaussian_filter


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """A folder of three frames, a third of the width sharp in each, and a larger one that takes a while."""
    root = tmp_path_factory.mktemp("photos")
    for name, (height, width) in {"small": SIZE, "large": (900, 1200)}.items():
        (root / name).mkdir()
        rng = np.random.default_rng(4)
        sharp = gaussian_filter(rng.random((height, width)), 0.7)
        sharp = (sharp - sharp.min()) / np.ptp(sharp)
        soft = gaussian_filter(sharp, 2)
        third = np.arange(width) * 3 // width
        for k in range(3):
            frame = np.where(third == k, sharp, soft)
            Image.fromarray(np.rint(255 * frame).astype(np.uint8)).save(
                root / name / f"z{k}.png", compress_level=1
            )
    return root


@pytest.fixture(scope="session")
def client(tmp_path_factory, photos):
    with serving(tmp_path_factory.mktemp("server") / "work", photos) as client:
        yield client


@pytest.fixture(scope="session")
def small(client, photos):
    return stack_of(client, photos / "small")


@pytest.fixture(scope="session")
def plain_job(client, small):
    """A job that is done, without maps."""
    return wait(client, job_of(client, small, align="off", method="pca"), "done")
