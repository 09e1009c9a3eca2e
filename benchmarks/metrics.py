"""Time of NMI, Q_AB/F, SSIM and MSE of a 24 MP pair, compared with one SSIM of scikit-image."""

import sys
import tempfile

import numpy as np
from skimage.metrics import structural_similarity

from benchmarks._data import best_time, measure_process, need_data
from panfocus import metrics
from panfocus.io.read_stack import read_image

SHAPE = (4000, 6000)
_IMAGES = "images.npy"
KEYS = ("NMI", "QABF", "SSIM", "MSE")

# One process only reads the images, and another also scores them.
_LOAD = "import sys; from benchmarks import metrics; images = metrics.load(sys.argv[1])"
_SCORE = f"{_LOAD}; metrics.ours(*images)"


def run() -> dict[str, float]:
    """Measure in turns, so that other load affects both."""
    sources, fused, reference = scene()
    theirs_reference, theirs_fused = (image.astype(np.float32) for image in (reference, fused))

    def theirs() -> float:
        return structural_similarity(
            theirs_reference,
            theirs_fused,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            data_range=255,
        )

    time_ours = time_theirs = np.inf
    for _ in range(2):
        time_ours = min(time_ours, best_time(lambda: ours(sources, fused, reference), repeats=1))
        time_theirs = min(time_theirs, best_time(theirs, repeats=1))
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/{_IMAGES}", np.stack([*sources, fused, reference]))
        _, loaded = measure_process([sys.executable, "-c", _LOAD, folder])
        _, scored = measure_process([sys.executable, "-c", _SCORE, folder])
    return {
        "metrics_24mp_seconds_time": time_ours,
        "metrics_24mp_skimage_ssim_time": time_ours / time_theirs,
        "metrics_24mp_memory": scored,
        "metrics_24mp_images_alone_memory": loaded,
    }


def ours(sources: list[np.ndarray], fused: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    """Compute the paper's four metrics."""
    return metrics.score(sources, fused, reference=reference, keys=KEYS)


def load(folder: str) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Read the saved images without a copy, which would count as memory."""
    *sources, fused, reference = np.load(f"{folder}/{_IMAGES}", mmap_mode="r")
    for image in (*sources, fused, reference):
        image[:, ::4096].sum()  # loads the memory pages
    return sources, fused, reference


def scene() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Tile a real pair and its reference to 24 MP, with noise to make the tiles differ."""
    folder = need_data() / "groundtruth" / "real-mff"
    names = sorted(path.name.removesuffix("-A.png") for path in folder.glob("*-A.png"))
    rng = np.random.default_rng(0)

    def tiled(role: str) -> np.ndarray:
        gray = metrics.matlab_gray(read_image(folder / f"{names[0]}-{role}.png"))
        repeats = [-(-wanted // have) for wanted, have in zip(SHAPE, gray.shape, strict=True)]
        large = np.tile(gray, repeats)[: SHAPE[0], : SHAPE[1]].astype(np.int16)
        large += rng.integers(-2, 3, SHAPE, dtype=np.int16)
        return np.clip(large, 0, 255).astype(np.uint8)

    a, b, reference = (tiled(role) for role in ("A", "B", "GT"))
    return [a, b], np.maximum(a, b), reference
