"""Loss by exposure and colour changes within a stack, with and without correction.

    python -m benchmarks.exposure [--sets real-mff mfi-whu rendered] [--methods panfocus dwt] [-o FIGURES]

Values of one or several frames, or their linear light by the sRGB curve, are multiplied, rounded to 8 bits
and clipped at 255. An unchanged frame, in pairs the first, is the reference: results are compared with the
truth in its exposure. The tables show colour PSNR in dB without 8 border pixels; "off" is with
`exposure="off"`, "elsewhere" excludes pixels that the change has clipped.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import panfocus as pf
from benchmarks import rendered_stacks
from benchmarks._truth import HALVES, SETS, Frames, colour_psnr, scenes
from panfocus.io.read_stack import read_image, read_stack

WARM = np.array([1.1, 1.0, 0.9])  # red, green, blue
SEED = 11

Gains = NDArray[np.float64]  # (n, 3)


def second(gain: float | Gains) -> Callable[[int], Gains]:
    """Return gains that change only the second frame."""

    def gains(n: int) -> Gains:
        of_frames = np.ones((n, 3))
        of_frames[1] = gain
        return of_frames

    return gains


def drift(n: int) -> Gains:
    """Return gains from -20 % to +20 % and from cold to warm; the middle frame is unchanged."""
    place = (np.arange(n) - (n - 1) // 2) / max(n - 1 - (n - 1) // 2, 1)
    return (1 + 0.2 * place)[:, None] * WARM ** place[:, None]


def flicker(n: int) -> Gains:
    """Return random gains of up to 5 % per frame; the middle frame is unchanged."""
    gains = np.random.default_rng(SEED).uniform(0.95, 1.05, n)
    middle = np.argsort(gains)[(n - 1) // 2]
    return np.repeat((gains / gains[middle])[:, None], 3, axis=1)


PAIR_CHANGES = {
    "values x 0.8": second(0.8),
    "values x 1.2": second(1.2),
    "warm": second(WARM),
    "values x 0.8, warm": second(0.8 * WARM),
    "values x 1.2, warm": second(1.2 * WARM),
    "light x 0.8, warm": second(0.8 * WARM),
    "light x 1.2, warm": second(1.2 * WARM),
}
STACK_CHANGES = PAIR_CHANGES | {"drift": drift, "flicker": flicker}


def exposed(frames: Frames, gains: Gains, *, light: bool) -> Frames:
    """Multiply the channels of frames, or their linear light, then round and clip."""
    values = np.arange(256) / 255
    in_light = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)

    def table(gain: float) -> NDArray[np.uint8]:
        grown = np.interp(gain * in_light, in_light, values) if light else gain * values
        return np.clip(np.rint(255 * grown), 0, 255).astype(np.uint8)

    changed = np.empty_like(frames)
    for k, c in np.ndindex(gains.shape):
        changed[k, ..., c] = table(gains[k, c])[frames[k, ..., c]]
    return changed


def measure(frames: Frames, truth: Frames, method: str) -> dict[str, float]:
    """Return the PSNR of the unchanged frames, and for each change without and with correction."""
    plain = pf.fuse(frames, method).image
    figures = {"none": colour_psnr(plain, truth)}
    for name, gains in (PAIR_CHANGES if len(frames) == 2 else STACK_CHANGES).items():
        changed = exposed(frames, gains(len(frames)), light=name.startswith("light"))
        cut_off = ((changed == 255) & (frames < 255)).any(axis=(0, 3))[..., None]
        for exposure in ("off", "auto"):
            fused = pf.fuse(changed, method, exposure=exposure).image
            figures[f"{name}, {exposure}"] = colour_psnr(fused, truth)
        lost = [colour_psnr(np.where(cut_off, truth, image), truth) for image in (plain, fused)]
        figures[f"{name}, lost elsewhere"] = lost[0] - lost[1]
    return figures


def groups(names: list[str]) -> Iterator[tuple[str, str, Frames, Frames]]:
    """Yield group, scene, frames and truth of the named sets."""
    for name, half, scene in scenes():
        if name in names:
            yield f"{name}, {half}", scene.name, read_stack(scene.sources).frames, read_image(scene.reference)
    for half in HALVES if "rendered" in names else ():
        for rendered in rendered_stacks.scenes(half):
            if len(rendered.frames) > 2:
                yield f"rendered, {half}", rendered.name, rendered.frames, rendered.truth.image


def print_table(group: str, figures: list[dict[str, float]]) -> None:
    """Print a row per change: means over scenes, and the largest loss."""
    plain = np.array([of_scene["none"] for of_scene in figures])
    print(f"\n{group}: {len(figures)} scenes, {plain.mean():.2f} dB without a change")
    print("| change | off | auto | lost | most | lost elsewhere | most |\n|---|---|---|---|---|---|---|")
    for name in [key.removesuffix(", auto") for key in figures[0] if key.endswith(", auto")]:
        off, auto, elsewhere = (
            np.array([of_scene[f"{name}, {how}"] for of_scene in figures])
            for how in ("off", "auto", "lost elsewhere")
        )
        lost = plain - auto
        print(
            f"| {name} | {off.mean():.2f} | {auto.mean():.2f} | {lost.mean():.2f} | {lost.max():.2f} "
            f"| {elsewhere.mean():.2f} | {elsewhere.max():.2f} |"
        )


def main() -> None:
    """Measure the sets and print tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [*SETS, "rendered"]
    parser.add_argument("--sets", nargs="+", choices=known, default=known)
    parser.add_argument("--methods", nargs="+", default=["panfocus"])
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON file of all figures")
    given = parser.parse_args()
    report = {}
    for method in given.methods:
        figures: defaultdict[str, dict[str, dict[str, float]]] = defaultdict(dict)
        for group, scene, frames, truth in groups(given.sets):
            figures[group][scene] = measure(frames, truth, method)
        print(f"\n{method}")
        for group, of_scenes in figures.items():
            print_table(group, list(of_scenes.values()))
        report[method] = figures
    if given.output:
        given.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
