"""Accuracy of alignment, compared with OpenCV's ECC and align_image_stack.

    python -m benchmarks.alignment [--stacks]

Known movements: one frame of a pair is warped by a known similarity (SciPy's quintic splines), and both are
cropped so that no border is extrapolated. Shift up to 5 % of the sides, scale up to 15 %, rotation up to 3
degrees. The error is the distance of the worst corner from its true position. The pairs of real-mff and
mfi-whu are registered. Pairs of lytro are off by up to 2 pixels, so the movement of the original pair is
subtracted.

--stacks: real stacks, compared with align_image_stack (Debian package hugin-tools). Residual: blocks of 96
pixels of neighbouring aligned frames, both blurred by 3 pixels, are matched by OpenCV's phase correlation;
the median shift over blocks with a clear match. Blocks overlap by three quarters, because only a dozen would
fit side by side into a small pair. Seconds are processor time of all threads.
"""

import argparse
import resource
import shutil
import subprocess
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

import panfocus as pf
from benchmarks._data import need_data
from panfocus.io.read_stack import read_image
from panfocus.registration.alignment import find_alignment
from panfocus.registration.models import movement

KEPT = 0.72  # share of the sides that the largest warp still fills
KINDS = ("none", "shift", "scale", "rotation", "all")
SETS = {
    "real-mff": "groundtruth/real-mff/*-A.png",
    "mfi-whu": "groundtruth/mfi-whu/*-A.jpg",
    "lytro": "lytro/lytro-*-A.jpg",
}
STACKS = {
    "ring": ["stacks/ring/*.jpg"],
    "pcb": ["stacks/pcb/*.jpg"],
    "mineral-drift": [f"stacks/mineral-drift/frame_{number:04}.jpg" for number in (9, 15, 6, 20, 25, 3)],
    **{f"misaligned-{n}": [f"misaligned-pairs/mamfif-v1-{n}-*.jpg"] for n in ("00", "12", "14", "16")},
}

# Settings of align_image_stack for stacks that need them. Scale changes with focus (-m); the common area is
# kept (-C). The others find control points in blurred frames: more points (-c), in frames halved two or three
# times (-s), with a lower correlation (--corr) and a larger tolerance in pixels (-t).
ALIGNMENT = ["-m", "-C", "--use-given-order"]
FINE, COARSE = ["-c", "20", "-s", "2", "--corr=0.7"], ["-c", "40", "-s", "3", "--corr=0.6", "-t", "6"]
TO_ALIGN = {"pcb": FINE, "ring": FINE, "mineral-drift": COARSE}


def random_similarity(rng, kind, shape):
    """Draw a random movement of a kind for frames of this shape."""
    height, width = shape
    scale, angle, shift = 1.0, 0.0, np.zeros(2)
    if kind in ("shift", "all"):
        shift = rng.uniform(-0.05, 0.05, 2) * [width, height]
    if kind in ("scale", "all"):
        scale = np.exp(rng.uniform(-1, 1) * np.log(1.15))
    if kind in ("rotation", "all"):
        angle = np.deg2rad(rng.uniform(-3, 3))
    middle = np.array([(width - 1) / 2, (height - 1) / 2])
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    H = np.eye(3)
    H[:2, :2], H[:2, 2] = turn, middle - turn @ middle + shift
    return H


def moved_pair(one, other, rng, kind):
    """Return the centres of two frames, the second one moved, and the movement."""
    height, width = (int(KEPT * side) for side in one.shape[:2])
    top, left = (one.shape[0] - height) // 2, (one.shape[1] - width) // 2
    H = random_similarity(rng, kind, (height, width))
    y, x = np.mgrid[:height, :width]
    at = np.linalg.inv(H) @ np.stack([x.ravel(), y.ravel(), np.ones(x.size)])
    rows, cols = (at[1] + top).reshape(height, width), (at[0] + left).reshape(height, width)
    planes = [
        map_coordinates(plane.astype(float), [rows, cols], order=5, mode="mirror")
        for plane in np.moveaxis(other, 2, 0)
    ]
    warped = np.rint(np.clip(np.stack(planes, axis=2), 0, 255)).astype(np.uint8)
    return np.stack([one[top : top + height, left : left + width], warped]), H


def ecc(frames):
    """Register with OpenCV's ECC and its defaults; return None if it fails."""
    import cv2

    gray = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in frames]
    criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 200, 1e-6)
    try:
        _, M = cv2.findTransformECC(
            gray[0], gray[1], np.eye(2, 3, dtype=np.float32), cv2.MOTION_AFFINE, criteria, None, 5
        )
    except cv2.error:
        return None
    return np.vstack([M, [0, 0, 1]])


def known_movements():
    """Print errors for known movements."""
    print("| set | movement | median | 95 % | largest | ECC median | ECC gave up | s a pair |")
    print("|---|---|---|---|---|---|---|---|")
    for name, pattern in SETS.items():
        pairs = [(a, a.with_name(a.name.replace("-A.", "-B."))) for a in sorted(need_data().glob(pattern))]
        for kind in KINDS:
            rng = np.random.default_rng(KINDS.index(kind))
            errors, theirs, seconds = [], [], 0.0
            for paths in pairs:
                one, other = (read_image(path) for path in paths)
                base = np.eye(3)
                if name == "lytro":
                    unmoved = moved_pair(one, other, rng, "none")[0]
                    base = find_alignment(unmoved, "similarity", reference=0).transforms[1]
                frames, H = moved_pair(one, other, rng, kind)
                started = time.perf_counter()
                found = find_alignment(frames, "auto", reference=0)
                seconds += time.perf_counter() - started
                shape = frames.shape[1:]
                errors.append(movement(found.transforms[1], shape, H @ base))
                if (matrix := ecc(frames)) is not None:
                    theirs.append(movement(matrix, shape, H @ base))
            print(
                f"| {name} | {kind} | {np.median(errors):.3f} | {np.quantile(errors, 0.95):.3f} | "
                f"{max(errors):.2f} | {np.median(theirs):.3f} | {len(pairs) - len(theirs)} of {len(pairs)} | "
                f"{seconds / len(pairs):.2f} |",
                flush=True,
            )


def residual(frames):
    """Return the median residual shift between neighbours, and the number of blocks used."""
    import cv2

    side, lengths = 96, []
    soft = [gaussian_filter(frame.mean(axis=2), 3).astype(np.float32) for frame in frames]
    window = cv2.createHanningWindow((side, side), cv2.CV_32F)
    for one, other in pairwise(soft):
        for top in range(0, one.shape[0] - side, side // 4):
            for left in range(0, one.shape[1] - side, side // 4):
                a, b = (plane[top : top + side, left : left + side] for plane in (one, other))
                if min(a.std(), b.std()) < 4:
                    continue
                (x, y), clear = cv2.phaseCorrelate(a - a.mean(), b - b.mean(), window)
                if clear > 0.3:
                    lengths.append(float(np.hypot(x, y)))
    return (float(np.median(lengths)) if lengths else float("nan")), len(lengths)


def real_stacks():
    """Print residuals and times, compared with align_image_stack."""
    warm = np.random.default_rng(0).integers(0, 256, (100, 120, 3), np.uint8)
    pf.align(np.stack([warm[4:84, 4:104], warm[2:82, 7:107]]), "shift")  # compiles before the timing starts
    print("| stack | before | ours | theirs | blocks | our s | their s | their frames |")
    print("|---|---|---|---|---|---|---|---|")
    for name, patterns in STACKS.items():
        paths = [path for pattern in patterns for path in sorted(need_data().glob(pattern))]
        frames = np.stack([read_image(path) for path in paths])
        started = time.process_time()
        aligned = pf.align(frames)
        ours = time.process_time() - started
        before, (after, count) = residual(frames)[0], residual(aligned.frames)
        with tempfile.TemporaryDirectory() as folder:
            theirs, seconds, written = rival(paths, Path(folder), TO_ALIGN.get(name, []))
        print(
            f"| {name} ({aligned.model}) | {before:.2f} | {after:.3f} | {theirs:.3f} | {count} | "
            f"{ours:.1f} | {seconds:.1f} | {written} of {len(paths)} |",
            flush=True,
        )


def rival(paths, folder, settings):
    """Run align_image_stack with scale (-m), cropping (-C) and the settings of a stack."""
    if not shutil.which("align_image_stack"):
        return float("nan"), float("nan"), 0
    started = _seconds_of_children()
    command = ["align_image_stack", *ALIGNMENT, *settings, "-a", folder / "aligned", *paths]
    subprocess.run(command, capture_output=True, check=False)
    seconds = _seconds_of_children() - started
    written = sorted(folder.glob("aligned*.tif"))
    if len(written) < 2:
        return float("nan"), seconds, len(written)
    return residual([read_image(path)[..., :3] for path in written])[0], seconds, len(written)


def _seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", action="store_true")
    real_stacks() if parser.parse_args().stacks else known_movements()
