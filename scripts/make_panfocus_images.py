"""Make the images of docs/panfocus-method.md from the sample and from rendered scenes.

    python scripts/make_panfocus_images.py

The steps of the method `panfocus` are called one by one. The result is compared with `panfocus.fuse`, so that
the images show what the program does. The rendered scenes need the Kodak photographs. Run it from the
repository's folder with PYTHONPATH=., so that `benchmarks` is found.
"""

from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import panfocus as pf
from benchmarks import rendered_stacks
from make_doc_images import FRAME_COLOURS, coloured, halved, in_column, in_row, save, titled
from panfocus._filters import filtered, gaussian
from panfocus._intensity import FloatArray
from panfocus.decide.labels import most_probable, probabilities
from panfocus.decide.reblur import FLOOR, allocate_attempts, blur_all, log_odds, reblur_error
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_stack
from panfocus.methods import Tile, get_method
from panfocus.methods._surroundings import decide_maps

AGAINST, FOR = np.array([0, 114, 178]), np.array([230, 159, 0])  # blue: the earlier frame; orange: the later
NEVER = np.array([213, 0, 0])
ODDS_SHOWN = 12.0  # log odds with full colour
ERROR_SHOWN = 30.0  # levels; larger errors are white
HAZE = (slice(236, 316), slice(297, 407))  # of the scene c2-2: a blurred leaf over a sharp background


def main() -> None:
    """Write all images."""
    with as_file(files("panfocus") / "data" / "sample") as sample:
        frames = read_stack(find_inputs([sample])).frames
    surveyed = get_method("panfocus").survey(frames)
    shape = frames.shape[1:3]
    chances, of_surroundings = (np.empty((n, *shape), np.float32) for n in (len(frames), len(frames) - 1))
    surveyed._gather_odds(frames, Tile.whole(shape), chances, of_surroundings)
    probabilities(chances[1:], out=chances)
    result = pf.fuse(frames)
    assert (decide_maps(of_surroundings, slice(0, shape[0]), chances.copy())[0] == result.labels).all()

    levels = [surveyed.to_levels(frame) for frame in frames[:2]]
    save("panfocus-evidence.jpg", evidence(levels, surveyed.noise))
    save(
        "panfocus-labels.jpg",
        row(
            {
                "probabilities": mixed(chances),
                "likeliest frame": coloured(most_probable(chances)[0]),
                "labels": coloured(result.labels),
            }
        ),
    )
    save(
        "panfocus-maps.jpg",
        row(
            {
                "confidence": shade(2 * result.confidence - 1),
                "depth": shade(result.depth / (len(frames) - 1)),
                "never in focus": marked(result.image, result.never_in_focus),
            }
        ),
    )
    (stack,) = rendered_stacks.scenes("choose", ("c6-8",))
    save("panfocus-rendered.jpg", against_truth(stack))
    (pair,) = rendered_stacks.scenes("choose", ("c2-2",))
    save("panfocus-haze.jpg", haze(pair))


def evidence(levels: list[FloatArray], noise: float) -> Image.Image:
    """Show how well each of two frames, blurred, reproduces the other, and the log odds."""
    errors = []
    for sharp, other in (levels, levels[::-1]):
        attempts = allocate_attempts(sharp)
        blur_all(sharp, attempts)
        error = reblur_error(attempts, np.empty((0, *sharp.shape[1:]), np.float32), other)
        errors.append(np.sqrt(filtered(error, gaussian(0.6)) + FLOOR))
    (odds,) = log_odds(levels, noise=noise)
    strength = np.clip(odds.regional / ODDS_SHOWN, -1, 1)[..., None]
    colours = 255 + np.where(strength > 0, strength * (FOR - 255.0), -strength * (AGAINST - 255.0))
    return row(
        {
            "frame 1, blurred, minus frame 2": shade(errors[0] / ERROR_SHOWN),
            "frame 2, blurred, minus frame 1": shade(errors[1] / ERROR_SHOWN),
            "log odds": Image.fromarray(np.rint(colours).astype(np.uint8)),
        }
    )


def against_truth(scene: rendered_stacks.RenderedScene) -> Image.Image:
    """Show a fused rendered stack with its maps above the ground truth."""
    result, truth, last = pf.fuse(scene.frames), scene.truth, len(scene.frames) - 1
    ours = {
        "fused": Image.fromarray(result.image),
        "depth": shade(result.depth / last),
        "never in focus": marked(result.image, result.never_in_focus),
    }
    true = {
        "truth": Image.fromarray(truth.image),
        "true depth": shade(truth.depth / last),
        "never in focus, textured": marked(truth.image, truth.never_in_focus & truth.textured),
    }
    return in_column([row(ours), row(true)])


def haze(scene: rendered_stacks.RenderedScene) -> Image.Image:
    """Show a leaf that is blurred in one frame, in front of a sharp background."""
    pictures = {"frame 1": scene.frames[0], "frame 2": scene.frames[1]}
    pictures |= {"fused": pf.fuse(scene.frames).image, "truth": scene.truth.image}
    details = [Image.fromarray(np.ascontiguousarray(picture[HAZE])) for picture in pictures.values()]
    return in_row(
        [
            titled(detail.resize((3 * detail.width, 3 * detail.height), Image.NEAREST), name)
            for name, detail in zip(pictures, details, strict=True)
        ]
    )


def row(pictures: dict[str, Image.Image]) -> Image.Image:
    """Join titled images at half size from left to right."""
    return in_row([titled(halved(picture), name) for name, picture in pictures.items()])


def shade(plane: NDArray[np.floating]) -> Image.Image:
    """Show a plane of unit range in grey."""
    return Image.fromarray(np.rint(255 * np.clip(plane, 0, 1)).astype(np.uint8))


def mixed(chances: FloatArray) -> Image.Image:
    """Mix the colours of the frames by their probabilities."""
    return Image.fromarray(np.rint(np.tensordot(chances, FRAME_COLOURS, (0, 0))).astype(np.uint8))


def marked(image: NDArray[np.uint8], mask: NDArray[np.bool_]) -> Image.Image:
    """Tint the area of a mask."""
    tinted = np.where(mask[..., None], 0.5 * image + 0.5 * NEVER, image)
    return Image.fromarray(np.rint(tinted).astype(np.uint8))


if __name__ == "__main__":
    main()
