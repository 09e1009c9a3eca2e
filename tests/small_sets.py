"""Small image sets with the paper's names, and an experiment that takes seconds."""

import numpy as np
from scipy.ndimage import gaussian_filter

from panfocus.io.encode import write_image
from panfocus.metrics import matlab_gray
from panfocus.reproduce import Experiment
from panfocus.reproduce.elements import Box
from panfocus.reproduce.image_sets import COLOUR_SETS, GREY_SETS, HELD_OUT, MASK_SCENES, TRAINING_CROPS

SMALL = Experiment(
    n_samples=400,
    rounds=2,
    patch_size=4,
    more_seeds=(1,),
    w_values=(0.5, 0.55, 0.9),
    eps_values=(0.1, 0.3),
    patch_sizes=(4, 5),
    noise_levels=(0, 10),
    noise_side=24,
    atom_limits=(2, 8),
)
TRAINING_SCENES = ("lytro-01", "lytro-02", "lytro-03", "lytro-04", "lytro-05")


def make_scene(rng, shape, n_frames):
    """Return the sharp truth (h, w[, 3]) and frames that are sharp in one strip each."""
    truth = gaussian_filter(rng.random(shape), (0.6, 0.6) + (0,) * (len(shape) - 2))
    truth = (truth - truth.min()) / np.ptp(truth)
    soft = gaussian_filter(truth, (2, 2) + (0,) * (len(shape) - 2))
    frames = []
    for k in range(n_frames):
        frame = soft.copy()
        strip = slice(k * shape[1] // n_frames, (k + 1) * shape[1] // n_frames)
        frame[:, strip] = truth[:, strip]
        frames.append(np.rint(255 * frame).astype(np.uint8))
    return np.rint(255 * truth).astype(np.uint8), frames


def cut_box(scene):
    """Return the origin of a training crop: its scene, the sharp frame, and the rectangle."""
    i = TRAINING_SCENES.index(scene)
    sharp = i % 2  # A is sharp on the left, B on the right
    return scene, sharp, Box(i, 21 if sharp else 1, 40, 18)


def write_small_sets(data):
    """Write every needed file as PNG, 48 x 40 pixels; Lab and Disk have references."""
    rng = np.random.default_rng(5)

    def save(path, image):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_image(path.with_suffix(".png"), image)
        if path.suffix != ".png":
            path.with_suffix(".png").rename(path)

    for image_set in (*GREY_SETS, *COLOUR_SETS):
        if not image_set.public:
            continue
        shape = (48, 40) if image_set in GREY_SETS else (48, 40, 3)
        truth, frames = make_scene(rng, shape, len(image_set.letters))
        for path, frame in zip(image_set.frames(data), frames, strict=True):
            save(path, frame)
        if image_set.name in ("Lab", "Disk"):
            save(image_set.reference(data), truth)
    names = {*TRAINING_SCENES, *MASK_SCENES}
    for name in sorted(names):
        _, frames = make_scene(rng, (48, 40, 3), 2)
        for letter, frame in zip("AB", frames, strict=True):
            save(data / "lytro" / f"{name}-{letter}.jpg", frame)
        if name in TRAINING_SCENES:
            crop = TRAINING_CROPS[TRAINING_SCENES.index(name)]
            _, sharp, box = cut_box(name)
            save(data / "training" / "pairs" / f"{crop}f.png", matlab_gray(frames[sharp])[box.place])
            save(data / "training" / "pairs" / f"{crop}b.png", matlab_gray(frames[1 - sharp])[box.place])
    for i in range(2):
        truth, frames = make_scene(rng, (48, 40, 3), 2)
        for part, image in zip(("A", "B", "GT"), (*frames, truth), strict=True):
            save(data / HELD_OUT / f"scene-{i}-{part}.png", image)


def write_scenes(folder, scenes):
    """Write frames A and B and the reference (GT) of each scene to a new folder, and return it."""
    folder.mkdir()
    for name, pictures in scenes.items():
        for part, picture in zip(("A", "B", "GT"), pictures, strict=True):
            write_image(folder / f"{name}-{part}.png", picture)
    return folder


def write_averages(folder, scenes):
    """Write the mean of A and B of each scene to a new folder, as another program would, and return it."""
    folder.mkdir()
    for name, pictures in scenes.items():
        write_image(folder / f"{name}_fused.png", np.rint(pictures[:2].mean(axis=0)).astype(np.uint8))
    return folder
