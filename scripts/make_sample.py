"""Make the demo's frames from three frames of the mineral stack of z-stackr (MIT licence).

    python scripts/make_sample.py FRAME15.jpg FRAME20.jpg FRAME25.jpg

The frames are reduced to a quarter, registered to the middle frame (focus breathing changes the scale by up
to 1 %) and cropped to the common area. Needs opencv-python-headless.
"""

import sys
from pathlib import Path

import cv2
import numpy as np

DESTINATION = Path(__file__).resolve().parents[1] / "src" / "panfocus" / "data" / "sample"
REDUCTION = 4
BLUR = 3.0  # pixels; frames are matched at equal blur
CROP = slice(20, 520), slice(30, 930)


def main(paths: list[str]) -> None:
    """Write frame-1.jpg, frame-2.jpg, frame-3.jpg."""
    frames = [_reduced(cv2.imread(path)) for path in paths]
    soft = [cv2.GaussianBlur(cv2.cvtColor(f, cv2.COLOR_BGR2GRAY), (0, 0), BLUR) for f in frames]
    size = frames[1].shape[1::-1]
    for i, frame in enumerate(frames, start=1):
        warp = np.eye(2, 3, dtype=np.float32)
        rule = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 500, 1e-8)
        _, warp = cv2.findTransformECC(soft[1], soft[i - 1], warp, cv2.MOTION_AFFINE, rule, None, 1)
        how = cv2.INTER_LANCZOS4 | cv2.WARP_INVERSE_MAP
        registered = frame if i == 2 else cv2.warpAffine(frame, warp, size, flags=how)
        cv2.imwrite(str(DESTINATION / f"frame-{i}.jpg"), registered[CROP], [cv2.IMWRITE_JPEG_QUALITY, 92])


def _reduced(frame: np.ndarray) -> np.ndarray:
    return cv2.resize(frame, None, fx=1 / REDUCTION, fy=1 / REDUCTION, interpolation=cv2.INTER_AREA)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1:])
