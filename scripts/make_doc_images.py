"""Make the images of the README and of docs/algorithms.md from the sample.

    python scripts/make_doc_images.py

The stages of the method `coupled` are called one by one, as in `docs/algorithms.md`. The result is compared
with `panfocus.fuse`, so that the images show what the program does. The README shows the default method.
"""

from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import panfocus as pf
from panfocus._intensity import IntensityScale
from panfocus.decide.compose import by_votes
from panfocus.decide.gray import to_gray
from panfocus.decide.labels import majority, vote_shares
from panfocus.decide.patches import centred_patches, patch_origins, spread_each
from panfocus.dictionary import atoms_picture
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_stack
from panfocus.methods.coupled import level_weights, weighted_activity
from panfocus.refine import refine_tv
from panfocus.simulate import disk
from panfocus.sparse import Pursuit

DESTINATION = Path(__file__).resolve().parents[1] / "docs" / "images"
FRAME_COLOURS = np.array([[0, 114, 178], [230, 159, 0], [0, 158, 115]], np.uint8)  # of Okabe and Ito
FOCUSED_COLOUR, BLURRED_COLOUR = (0, 90, 60), (170, 60, 0)
MARK = (255, 60, 60)
GAP = 6
READINGS = ("restored", "normalised")
EPS, W = 0.1, 0.55  # the defaults of the method `coupled`

# Details (left, top), each sharp in another frame: rim of the stone, crack in the middle, inclusion.
DETAILS = ((20, 25), (385, 315), (670, 174))
DETAIL_SIZE = (150, 90)
PATCH_AT = (249, 774)  # row, column: below the inclusion, sharp in frame 3


def main() -> None:
    """Write all images."""
    with as_file(files("panfocus") / "data" / "sample") as sample:
        frames = read_stack(find_inputs([sample])).frames
    dictionary = pf.CoupledDictionary.default()
    rows, cols = (patch_origins(side, dictionary.patch_size, 1) for side in frames.shape[1:3])

    shares = {reading: choose(frames, dictionary, rows, cols, reading) for reading in READINGS}
    votes = spread_each(shares["restored"], frames.shape[1:3], rows, cols, 8)
    labels, confidence = majority(votes)
    fused = by_votes(frames, votes)
    result = pf.fuse(frames, "coupled")
    assert (result.image == fused).all()
    assert (result.labels == labels).all()
    assert (result.confidence == confidence).all()

    DESTINATION.mkdir(parents=True, exist_ok=True)
    save("strip.jpg", strip(frames, pf.fuse(frames).image))
    save("patches.png", patches_of(frames))
    save("codes.png", codes_of(frames, dictionary))
    save("atoms.png", Image.fromarray(atoms_picture(pf.CoupledDictionary(dictionary.levels[..., :64]))))
    save("atoms3.png", three_levels(pf.CoupledDictionary.default("levels3")))
    save("disks.png", disks((1.5, 3.0, 6.0)))
    save(
        "winners.png",
        side_by_side([coloured(shares[reading].argmax(axis=0)) for reading in READINGS], READINGS),
    )
    save("confidence.png", halved(Image.fromarray(np.rint(255 * confidence).astype(np.uint8))))
    save("labels.png", halved(coloured(labels)))
    save("fused.jpg", Image.fromarray(fused))
    save("refined.png", refined(fused, (0, 1e-3, 1e-2, 5e-2)))
    for path in sorted(DESTINATION.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def choose(
    frames: NDArray[np.uint8],
    dictionary: pf.CoupledDictionary,
    rows: NDArray[np.int64],
    cols: NDArray[np.int64],
    reading: str,
) -> NDArray[np.integer]:
    """Return the vote shares of the frames for every patch, like `methods/coupled.py`, in one block."""
    pursuit = Pursuit(dictionary.matrix, max_atoms=64, max_sq_error=EPS)
    activities = []
    for frame in frames:
        patches, energies = centred_patches(to_gray(frame), rows, cols, dictionary.patch_size)
        l1 = pursuit.l1_norms(patches, segments=2)
        activity = weighted_activity(l1, level_weights(W, 2))
        if reading == "normalised":
            norms = np.sqrt(energies)
            activity = np.divide(activity, norms, out=np.zeros_like(activity), where=norms > 0)
        activities.append(activity.reshape(len(rows), len(cols)))
    return vote_shares(np.stack(activities))


def strip(frames: NDArray[np.uint8], fused: NDArray[np.uint8]) -> Image.Image:
    """Return frames and fused image in columns, with three details magnified below."""
    width, height = DETAIL_SIZE
    columns = []
    for picture, name in zip((*frames, fused), ("frame 1", "frame 2", "frame 3", "fused"), strict=True):
        whole = Image.fromarray(picture)
        details = [
            whole.crop((left, top, left + width, top + height)).resize((2 * width, 2 * height), Image.LANCZOS)
            for left, top in DETAILS
        ]
        draw = ImageDraw.Draw(whole)
        for left, top in DETAILS:
            draw.rectangle((left, top, left + width, top + height), outline=MARK, width=4)
        small = whole.resize((2 * width, 2 * width * whole.height // whole.width), Image.LANCZOS)
        columns.append(in_column([titled(small, name), *details]))
    return in_row(columns)


def patches_of(frames: NDArray[np.uint8]) -> Image.Image:
    """Show a piece of the grey plane with some patches of the grid, and one patch in all frames."""
    row, col = PATCH_AT
    top, left, height, width, zoom = row - 12, col - 12, 32, 44, 10
    planes = [to_gray(frame) for frame in frames]
    piece = enlarged(planes[2][top : top + height, left : left + width], zoom).convert("RGB")
    draw = ImageDraw.Draw(piece)
    for shift in range(0, 25, 8):
        place = [(12 + shift) * zoom, 12 * zoom, (20 + shift) * zoom, 20 * zoom]
        draw.rectangle(place, outline=(120, 200, 255), width=2)
    for shift, colour in ((2, (255, 190, 60)), (1, (255, 190, 60)), (0, MARK)):
        first, last = (12 + shift) * zoom, (20 + shift) * zoom
        draw.rectangle((first, first, last, last), outline=colour, width=3 if shift == 0 else 2)
    patches = [titled(enlarged(plane[row : row + 8, col : col + 8], 17), f"frame {k + 1}")
               for k, plane in enumerate(planes)]  # fmt: skip
    centred = [
        plane[row : row + 8, col : col + 8] - plane[row : row + 8, col : col + 8].mean() for plane in planes
    ]
    reach = max(np.abs(patch).max() for patch in centred)
    below = [
        titled(enlarged(0.5 + patch / (2 * reach), 17), f"norm {np.linalg.norm(patch):.3f}")
        for patch in centred
    ]
    return in_row([piece, in_column([in_row(patches), in_row(below)])], gap=16)


def codes_of(frames: NDArray[np.uint8], dictionary: pf.CoupledDictionary) -> Image.Image:
    """Show one patch in all frames and the atoms of its code."""
    row, col = PATCH_AT
    pursuit = Pursuit(dictionary.matrix, max_atoms=64, max_sq_error=EPS)
    weights = level_weights(W, 2)
    lines = []
    for k, frame in enumerate(frames):
        patches, _ = centred_patches(to_gray(frame), np.array([row]), np.array([col]), 8)
        codes = pursuit.codes(patches)
        activity = float(weighted_activity(pursuit.l1_norms(patches, segments=2), weights)[0])
        n = int(codes.counts[0])
        tiles = [titled(signed(patches[:, 0]), f"frame {k + 1}")]
        for atom, coefficient in zip(codes.atoms[:n, 0], codes.coefficients[:n, 0], strict=True):
            level = int(atom) // dictionary.n_atoms
            tiles.append(
                titled(
                    signed(dictionary.matrix[:, atom]),
                    f"{'FB'[level]} {coefficient:+.3f}",
                    (FOCUSED_COLOUR, BLURRED_COLOUR)[level],
                )
            )
        tiles.append(titled(Image.new("RGB", (110, 80), "white"), f"activity {activity:.3f}"))
        lines.append(in_row(tiles))
    return in_column(lines, gap=10)


def three_levels(dictionary: pf.CoupledDictionary) -> Image.Image:
    """Show the first atoms at all three levels."""
    rows = [in_row([signed(dictionary.levels[level, :, i], zoom=5) for i in range(16)]) for level in range(3)]
    return in_column(rows)


def disks(radii: tuple[float, ...]) -> Image.Image:
    """Show point spreads, each at full contrast."""
    tiles = []
    for radius in radii:
        kernel = disk(radius)
        kernel = np.pad(kernel, (15 - len(kernel)) // 2)
        tiles.append(titled(enlarged(kernel / kernel.max(), 8), f"radius {radius:g}"))
    return in_row(tiles, gap=16)


def refined(fused: NDArray[np.uint8], strengths: tuple[float, ...]) -> Image.Image:
    """Show a detail of the fused image at several strengths of refinement."""
    (left, top), (width, height) = DETAILS[2], DETAIL_SIZE
    scale = IntensityScale.of(fused.dtype)
    tiles = []
    for strength in strengths:
        image = scale.from_unit(refine_tv(scale.to_unit(fused), strength=strength).image)
        detail = Image.fromarray(image).crop((left, top, left + width, top + height))
        detail = detail.resize((2 * width, 2 * height), Image.NEAREST)
        tiles.append(titled(detail, f"strength {strength:g}"))
    return in_column([in_row(tiles[:2]), in_row(tiles[2:])])


def coloured(labels: NDArray[np.integer]) -> Image.Image:
    """Colour a label map by frame."""
    return Image.fromarray(FRAME_COLOURS[labels])


def side_by_side(pictures: list[Image.Image], names: tuple[str, ...]) -> Image.Image:
    """Join images at half size from left to right."""
    return in_row([titled(halved(picture), name) for picture, name in zip(pictures, names, strict=True)])


def halved(picture: Image.Image) -> Image.Image:
    """Take every second pixel, because labels cannot be averaged."""
    return picture.resize((picture.width // 2, picture.height // 2), Image.NEAREST)


def enlarged(plane: NDArray[np.floating], zoom: int) -> Image.Image:
    """Show a plane of unit range, each value as a square."""
    values = np.rint(255 * np.clip(plane, 0, 1)).astype(np.uint8)
    return Image.fromarray(values.repeat(zoom, axis=0).repeat(zoom, axis=1))


def signed(column: NDArray[np.floating], zoom: int = 10) -> Image.Image:
    """Show a patch or atom: zero is middle grey, the largest value black or white."""
    side = round(np.sqrt(len(column)))
    return enlarged(0.5 + column.reshape(side, side) / (2 * np.abs(column).max()), zoom)


def titled(picture: Image.Image, text: str, colour: tuple[int, int, int] = (0, 0, 0)) -> Image.Image:
    """Add a title above an image."""
    canvas = Image.new("RGB", (picture.width, picture.height + 18), "white")
    canvas.paste(picture, (0, 18))
    ImageDraw.Draw(canvas).text((0, 0), text, fill=colour, font=ImageFont.load_default(size=13))
    return canvas


def in_row(pictures: list[Image.Image], gap: int = GAP) -> Image.Image:
    """Join pictures from left to right, on white."""
    width = sum(picture.width for picture in pictures) + gap * (len(pictures) - 1)
    canvas = Image.new("RGB", (width, max(picture.height for picture in pictures)), "white")
    left = 0
    for picture in pictures:
        canvas.paste(picture, (left, 0))
        left += picture.width + gap
    return canvas


def in_column(pictures: list[Image.Image], gap: int = GAP) -> Image.Image:
    """Join pictures from top to bottom, on white."""
    height = sum(picture.height for picture in pictures) + gap * (len(pictures) - 1)
    canvas = Image.new("RGB", (max(picture.width for picture in pictures), height), "white")
    top = 0
    for picture in pictures:
        canvas.paste(picture, (0, top))
        top += picture.height + gap
    return canvas


def save(name: str, picture: Image.Image) -> None:
    """Save an image as a small file."""
    options = {"quality": 85} if name.endswith(".jpg") else {"optimize": True}
    picture.save(DESTINATION / name, **options)


if __name__ == "__main__":
    main()
