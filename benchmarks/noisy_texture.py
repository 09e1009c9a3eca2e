"""Share of pixels that methods give to the sharp one of two noisy frames, the other blurred by 4 px.

    python -m benchmarks.noisy_texture [METHOD[:NAME=VALUE] ...]

Scenes are two synthetic textures (normal noise, smoothed by 1 and 2 px, 40 levels of deviation) and kodim13
in colour and in grey. Noise is normal with 0 to 10 levels of 255, independent in both frames. Settings were
chosen on other textures and photographs.
"""

import sys
from collections.abc import Iterator

import numpy as np
from scipy.ndimage import gaussian_filter

import panfocus as pf
from benchmarks._data import need_data
from benchmarks._truth import noisy
from panfocus.decide.gray import to_gray
from panfocus.io.read_stack import read_image
from panfocus.methods import FusionMethod, get_method, parse_assignments, parse_settings

SIGMAS = (0, 2, 3, 5, 10)
BLUR = 4.0  # px
CASES = ("coupled", "coupled:max_atoms=0", "sr-ksvd", "sr-ksvd:max_atoms=0", "sr-cm", "sr-cm:max_atoms=0")
SIDE, CONTRAST, SEED = 192, 40.0, 101


def scenes() -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the sharp image of every scene, in levels."""
    for smooth in (1, 2):
        noise = np.random.default_rng(SEED + smooth).standard_normal((SIDE, SIDE))
        texture = gaussian_filter(noise, smooth, mode="wrap")
        yield f"texture, {smooth} px", 128 + CONTRAST * texture / texture.std()
    photo = read_image(need_data() / "training" / "kodak" / "kodim13.png")
    yield "kodim13", photo.astype(float)
    yield "kodim13, grey", 255 * to_gray(photo).astype(float)


def share_of_sharp(sharp: np.ndarray, sigma: float, method: FusionMethod) -> float:
    """Return the share of labels that name the sharp frame, which is the second one."""
    blur = (BLUR, BLUR) + (0,) * (sharp.ndim - 2)
    frames = np.clip(np.rint([gaussian_filter(sharp, blur), sharp]), 0, 255).astype(np.uint8)
    result = pf.fuse(noisy(frames, sigma), method, hot_pixels="off", exposure="off")
    return float(np.mean(result.labels == 1))


def main() -> None:
    """Print a Markdown table of percentages."""
    print("| | | " + " | ".join(map(str, SIGMAS)) + " |\n|---|---|" + "---|" * len(SIGMAS))
    for name, sharp in scenes():
        for case in sys.argv[1:] or CASES:
            method, _, settings = case.partition(":")
            assigned = parse_settings(method, parse_assignments(settings.split(",") if settings else []))
            shares = [share_of_sharp(sharp, sigma, get_method(method, **assigned)) for sigma in SIGMAS]
            print(f"| {name} | {case} | " + " | ".join(f"{100 * s:.2f}" for s in shares) + " |", flush=True)


if __name__ == "__main__":
    main()
