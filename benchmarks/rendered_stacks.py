"""Rendered focal stacks with ground truth: write scenes for `panfocus compare`, and measure methods.

    python -m benchmarks.rendered_stacks write OUT
    panfocus compare OUT/choose OUT/report --methods coupled,dsift --crop 8 -o REPORT
    python -m benchmarks.rendered_stacks measure --methods coupled,dsift --pyramid PATH/pyramid.py -o FIGURES

    for scene in rendered_stacks.scenes("choose"):
        print(scene.name, rendered_stacks.measure(pf.fuse(scene.frames), scene))

Settings are chosen on the group "choose" and reported on the group "report".
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import panfocus as pf
from benchmarks import rivals
from benchmarks._data import need_data
from panfocus.compare import parse_methods
from panfocus.io.atomic_files import make_folder
from panfocus.io.encode import write_image
from panfocus.metrics.catalogue import source_letters
from panfocus.simulate import SceneSetting, Truth, draw_layers, find_truth, render_stack

HEIGHT, WIDTH = 384, 512
BORDER = 8  # ignored pixels on each side
TRIM = 8  # pixels cut from each side of the photographs, because some have a frame

# Photographs that are not used for training. No texture is in both groups.
TEXTURES = {
    "choose": ("kodim17", "kodim19", "kodim21", "kodim23"),
    "report": ("kodim18", "kodim20", "kodim22", "kodim24"),
}


def _setting(objects: str, n_frames: int, largest_radius: float, **others) -> SceneSetting:
    return SceneSetting(
        objects=tuple(objects.split()), n_frames=n_frames, largest_radius=largest_radius, **others
    )


SETTINGS = {
    "choose": {
        "c1-2": _setting("blob polygon", 2, 6, seed=101),
        "c2-2": _setting("blob leaves", 2, 10, seed=102, unfocused="middle", noise=1),
        "c3-3": _setting("polygon leaves wires", 3, 8, seed=103, near_first=False, noise=1),
        "c4-3": _setting("blob polygon", 3, 4, seed=104, unfocused="back", noise=0.5),
        "c5-5": _setting("board blob hairs", 5, 10, seed=105, noise=1.5),
        "c6-8": _setting("leaves polygon blob", 8, 12, seed=106, background="floor", unfocused="front"),
        "c7-12": _setting("dome board wires", 12, 12, seed=107, near_first=False, noise=2),
        "c8-20": _setting("polygon dome leaves hairs", 20, 12, seed=108, unfocused="back", noise=1),
    },
    "report": {
        "r01-2": _setting("polygon blob", 2, 4, seed=201, noise=1),
        "r02-2": _setting("blob leaves wires", 2, 8, seed=202, near_first=False),
        "r03-2": _setting("leaves polygon blob", 2, 11, seed=203, unfocused="middle", noise=1),
        "r04-3": _setting("blob hairs", 3, 6, seed=204, noise=0.5),
        "r05-3": _setting("leaves polygon", 3, 10, seed=205, unfocused="front", noise=1.5),
        "r06-5": _setting("polygon board wires", 5, 8, seed=206, near_first=False, noise=1),
        "r07-5": _setting("blob leaves polygon", 5, 2.5, seed=207, noise=1),
        "r08-8": _setting("dome leaves hairs", 8, 10, seed=208, unfocused="back"),
        "r09-8": _setting("blob polygon", 8, 12, seed=209, background="floor", noise=2),
        "r10-12": _setting(
            "board dome wires blob", 12, 12, seed=210, near_first=False, unfocused="front", noise=1
        ),
        "r11-20": _setting("polygon leaves dome wires", 20, 12, seed=211, noise=1),
        "r12-20": _setting(
            "blob board hairs", 20, 9, seed=212, background="floor", unfocused="back", noise=1.5
        ),
    },
}


COLUMNS = {
    "psnr": "PSNR",
    "psnr_focused": "focused",
    "psnr_band": "band",
    "psnr_band_focused": "focused",
    "precision": "precision",
    "recall": "recall",
    "depth_mean": "depth",
    "depth_median": "median",
}


@dataclass(frozen=True, eq=False)
class RenderedScene:
    """A stack (n, h, w, 3) and its ground truth."""

    name: str
    setting: SceneSetting
    frames: NDArray[np.uint8]
    truth: Truth


def scenes(group: str, names: tuple[str, ...] = ()) -> Iterator[RenderedScene]:
    """Render the scenes of a group, "choose" or "report", or only the named ones."""
    textures = [load_texture(name) for name in TEXTURES[group]]
    for name, setting in SETTINGS[group].items():
        if names and name not in names:
            continue
        layers = draw_layers(setting, textures, height=HEIGHT, width=WIDTH)
        optics = {"n_frames": setting.n_frames, "strength": setting.strength}
        frames = render_stack(layers, **optics, noise=setting.noise, rng=np.random.default_rng(setting.seed))
        yield RenderedScene(name, setting, frames, find_truth(layers, **optics))


def load_texture(name: str) -> NDArray[np.float64]:
    """Return a photograph of Kodak, landscape and unit range, reduced to the height of a scene."""
    photo = Image.open(need_data() / "training" / "kodak" / f"{name}.png").convert("RGB")
    if photo.height > photo.width:
        photo = photo.transpose(Image.Transpose.ROTATE_90)
    photo = photo.crop((TRIM, TRIM, photo.width - TRIM, photo.height - TRIM))
    # Reduced to at most three quarters of its size, which makes it sharper.
    size = round(photo.width * HEIGHT / photo.height), HEIGHT
    return np.asarray(photo.resize(size, Image.Resampling.LANCZOS)) / 255


def measure(result: pf.FusionResult, scene: RenderedScene) -> dict[str, float]:
    """Compare a result with the truth; maps that a method does not give are left out.

    Decibels are of the three channels together: of the whole image, near depth edges, and of both without
    areas that are never in focus, which no selection can restore. Depths count where the surface has texture
    and is in focus in some frame; without a depth map, labels are used. The numbers of textured pixels that
    are never in focus, are detected, and are both give recall and precision.
    """
    truth = scene.truth
    inside = np.zeros(truth.depth.shape, dtype=bool)
    inside[BORDER:-BORDER, BORDER:-BORDER] = True
    focused = inside & ~truth.never_in_focus
    squares = np.mean((result.image.astype(np.float64) - truth.image) ** 2, axis=2)
    figures = {
        "psnr": _decibels(squares[inside]),
        "psnr_focused": _decibels(squares[focused]),
        "psnr_band": _decibels(squares[inside & truth.near_edge]),
        "psnr_band_focused": _decibels(squares[focused & truth.near_edge]),
    }
    depth = result.depth if result.depth is not None else result.labels
    if depth is not None:
        # For a surface slightly beyond the last frame, that frame is the best answer.
        errors = np.abs(depth - np.clip(truth.depth, 0, len(scene.frames) - 1))[focused & truth.textured]
        figures |= {"depth_mean": float(errors.mean()), "depth_median": float(np.median(errors))}
    if result.never_in_focus is not None:
        where = inside & truth.textured
        found, true = result.never_in_focus & where, truth.never_in_focus & where
        figures |= {"never_true": int(true.sum()), "never_found": int(found.sum())}
        figures["never_both"] = int((found & true).sum())
    return figures


def summary(figures: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return means over scenes, and precision and recall over the pixels of all scenes."""
    each = list(figures.values())
    means = {
        key: float(np.mean([scene[key] for scene in each])) for key in each[0] if not key.startswith("never_")
    }
    if "never_true" in each[0]:
        true, found, both = (
            sum(scene[f"never_{key}"] for scene in each) for key in ("true", "found", "both")
        )
        means |= {"precision": both / found} if found else {}
        means |= {"recall": both / true} if true else {}
    return means


def _decibels(squares: NDArray[np.float64]) -> float:
    error = squares.mean()
    return float(10 * np.log10(255**2 / error)) if error > 0 else np.inf


def write(folder: Path) -> None:
    """Write both groups of scenes, with the truth in a folder that comparisons ignore."""
    for group in SETTINGS:
        for scene in scenes(group):
            write_scene(folder / group, scene)
            print(f"wrote {folder / group / scene.name}-*.png")


def write_scene(folder: Path, scene: RenderedScene) -> None:
    """Write frames and reference, and depth and masks into truth/NAME.npz."""
    make_folder(folder / "truth")
    truth = scene.truth
    sources = tuple(folder / f"{scene.name}-{source_letters(i)}.png" for i in range(len(scene.frames)))
    reference = folder / f"{scene.name}-GT.png"
    for path, image in zip((*sources, reference), (*scene.frames, truth.image), strict=True):
        write_image(path, image, force=True)
    np.savez_compressed(
        folder / "truth" / f"{scene.name}.npz",
        depth=truth.depth,
        least_radius=truth.least_radius,
        never_in_focus=truth.never_in_focus,
        textured=truth.textured,
        near_edge=truth.near_edge,
    )


def by_true_depth(scene: RenderedScene) -> pf.FusionResult:
    """Copy every pixel from the frame focused nearest to its true depth."""
    return _copied(scene, np.clip(np.rint(scene.truth.depth), 0, len(scene.frames) - 1).astype(np.intp))


def by_least_error(scene: RenderedScene) -> pf.FusionResult:
    """Copy every pixel from the frame with the smallest error, an upper bound for every method."""
    errors = [np.sum((frame.astype(np.int64) - scene.truth.image) ** 2, axis=2) for frame in scene.frames]
    return _copied(scene, np.argmin(errors, axis=0))


def _copied(scene: RenderedScene, labels: NDArray[np.intp]) -> pf.FusionResult:
    return pf.FusionResult(np.take_along_axis(scene.frames, labels[None, ..., None], axis=0)[0])


def fuse_by_all(
    scene: RenderedScene, methods: str, pyramid: Path | None
) -> Iterator[tuple[str, pf.FusionResult]]:
    """Fuse a scene with oracles, with rivals, and with methods, named as for `panfocus compare`."""
    yield "oracle: true depth", by_true_depth(scene)
    yield "oracle: least error", by_least_error(scene)
    for name, rival in rivals.available(pyramid).items():
        yield name, pf.FusionResult(rivals.fuse_frames(rival, scene.frames))
    for entry in parse_methods(methods) if methods else []:
        yield entry.name, pf.fuse(scene.frames, entry.method, **entry.settings)


def print_table(group: str, figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Print one row per method; a dash means no value."""
    print(
        f"\n{group}: {len(SETTINGS[group])} scenes\n{'':24}"
        + "".join(f"{head:>10}" for head in COLUMNS.values())
    )
    for name, of_scenes in figures.items():
        row = summary(of_scenes)
        cells = (f"{row[key]:10.3f}" if key in row else f"{'-':>10}" for key in COLUMNS)
        print(f"{name:24}" + "".join(cells))


def main() -> None:
    """Write the scenes, or measure methods on them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="write scenes and their truth")
    writing.add_argument("output", type=Path, metavar="OUT", help="folder to write to")
    measuring = commands.add_parser("measure", help="fuse the scenes and compare with the truth")
    measuring.add_argument(
        "--methods", default="", metavar="A,B,...", help="methods, as for panfocus compare"
    )
    measuring.add_argument(
        "--pyramid", type=Path, metavar="FILE", help="program of the pyramid; skipped by default"
    )
    measuring.add_argument("--group", choices=list(SETTINGS), help="only one group")
    measuring.add_argument("-o", "--output", type=Path, metavar="FILE", help="JSON file of all figures")
    given = parser.parse_args()
    if given.command == "write":
        write(given.output)
        return
    report = {}
    for group in [given.group] if given.group else SETTINGS:
        figures: defaultdict[str, dict[str, dict[str, float]]] = defaultdict(dict)
        for scene in scenes(group):
            print(scene.name, end=" ", flush=True)
            for name, result in fuse_by_all(scene, given.methods, given.pyramid):
                figures[name][scene.name] = measure(result, scene)
        print_table(group, figures)
        report[group] = {
            name: {"summary": summary(of_scenes), "scenes": of_scenes} for name, of_scenes in figures.items()
        }
    if given.output:
        given.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
