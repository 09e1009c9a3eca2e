"""Make the image of docs/retouch.md: a lost fibre, painted back from its frame.

    python scripts/make_retouch_image.py FOLDER

FOLDER has the seven frames of the example `pcb` of the repository PetteriAimonen/focus-stack.
"""

import sys

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import panfocus as pf
from make_doc_images import in_row, save, titled
from panfocus.io.input_files import find_inputs
from panfocus.io.read_stack import read_stack
from panfocus.retouch import Stroke, Strokes, apply_strokes

FIBRE = Stroke(
    frame=2,
    points=(
        (275.0, 1332.0),
        (279.0, 1340.0),
        (284.0, 1344.0),
        (292.0, 1347.0),
        (302.0, 1348.0),
        (313.0, 1349.0),
        (318.0, 1346.0),
        (321.0, 1340.0),
        (325.0, 1331.0),
    ),
    radius=5.0,
    hardness=0.3,
)
SHOWN = (slice(255, 345), slice(1300, 1390))
TIMES = 3  # magnification


def main(folder: str) -> None:
    """Write the image."""
    frames = pf.align(read_stack(find_inputs([folder])).frames).frames
    fused = pf.fuse(frames).image
    height, width = fused.shape[:2]
    retouched = apply_strokes(fused, frames, Strokes(width, height, len(frames), (FIBRE,)))
    pictures = {"fused": fused, "frame 2": frames[FIBRE.frame], "retouched": retouched}
    save("retouch.jpg", in_row([titled(enlarged(picture), name) for name, picture in pictures.items()]))


def enlarged(picture: NDArray[np.uint8]) -> Image.Image:
    """Return the shown part, enlarged."""
    part = Image.fromarray(np.ascontiguousarray(picture[SHOWN]))
    return part.resize((TIMES * part.width, TIMES * part.height), Image.Resampling.BICUBIC)


if __name__ == "__main__":
    main(sys.argv[1])
