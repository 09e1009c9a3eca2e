"""Learn the dictionaries of the package from sharp photographs with a clean licence.

    python scripts/learn_default.py KODAK_DIR SKIMAGE_DIR

KODAK_DIR holds kodim01.png to kodim16.png of the Kodak Lossless True Color Image Suite (released for
unrestricted use), SKIMAGE_DIR these images of scikit-image's data: astronaut, brick, camera, chelsea, coffee,
grass, gravel (CC0 or public domain) and rocket.jpg (public domain). The result is bit-identical on every run
on one type of machine.
"""

import sys
from pathlib import Path

import numpy as np

from panfocus.decide.gray import to_gray
from panfocus.dictionary import CoupledDictionary
from panfocus.io.read_stack import read_image
from panfocus.methods.sr_fm import SrFm
from panfocus.simulate import simulate_training
from panfocus.simulate.defocus import NOISE, RADII

DESTINATION = Path(__file__).resolve().parents[1] / "src" / "panfocus" / "data" / "dictionaries"
SKIMAGE = ("astronaut", "brick", "camera", "chelsea", "coffee", "grass", "gravel", "rocket")
PICTURES = "kodim01 to 16 of the Kodak suite and 8 images of scikit-image's data"
ORIGIN = (
    f"{PICTURES}, defocus simulated: "
    f"disks of radius {RADII[0]:g} to {RADII[1]:g} pixels, noise up to {NOISE * 255:g}/255, rounded to 8 bit"
)
SEED = 0


def main(kodak: Path, skimage: Path) -> None:
    """Learn and save all dictionaries."""
    paths = [kodak / f"kodim{i:02d}.png" for i in range(1, 17)]
    paths += [next(skimage.glob(f"{name}.*")) for name in SKIMAGE]
    images = [to_gray(read_image(path)) for path in paths]
    sharp = CoupledDictionary.learn(images, rng=SEED, origin=f"sharp patches of {PICTURES}")
    sharp.save(DESTINATION / "ksvd.npz", force=True)
    print(f"ksvd: objective {sharp.history[-1].objective:.4f}")
    focused, blurred = simulate_training(images, n_levels=2, rng=np.random.default_rng(SEED))
    maps = SrFm.learn_dictionary([*focused, *blurred], rng=SEED, origin=f"focus maps of {ORIGIN}")
    maps.save(DESTINATION / "focus-maps.npz", force=True)
    print(f"focus-maps: objective {maps.history[-1].objective:.4f}")
    for n_levels in (2, 3):
        levels = simulate_training(images, n_levels=n_levels, rng=np.random.default_rng(SEED))
        learned = CoupledDictionary.learn(*levels, rng=SEED, origin=ORIGIN)
        learned.save(DESTINATION / f"levels{n_levels}.npz", force=True)
        correlations = ", ".join(f"{c:.3f}" for c in learned.pair_correlations().mean(axis=1))
        objective = learned.history[-1].objective
        print(f"levels{n_levels}: objective {objective:.4f}, pairs correlate {correlations}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
