"""From pictures to scores: grey and its rounding."""

import numpy as np
import pytest

from panfocus.compare.scoring import GREY, score_pictures
from panfocus.metrics import matlab_gray

KEYS = ("NMI", "QABF", "QCB", "TE", "MSE")


def scores(pictures, convert):
    *sources, fused = map(convert, pictures)
    return score_pictures(sources, fused, sources[0], keys=KEYS)


def wide(picture):
    return picture.astype(np.uint16) * 257


def test_grey_pictures_score_the_same_in_8_and_16_bit(small_scenes):
    grey = [picture[..., 1] for picture in small_scenes["cup"]]
    assert scores(grey, wide) == scores(grey, lambda picture: picture)


def test_colour_scores_depend_on_the_bit_depth_as_8_bit_grey_is_rounded(small_scenes):
    colour = small_scenes["cup"]
    eight, sixteen = scores(colour, lambda picture: picture), scores(colour, wide)
    floats = scores(colour, lambda picture: picture / 255)
    assert floats["QABF"] == pytest.approx(sixteen["QABF"], abs=1e-5)
    assert abs(eight["QABF"] - sixteen["QABF"]) > 1e-4
    assert scores(colour, lambda picture: wide(matlab_gray(picture))) == eight
    assert "8 and 16 bit rounded" in GREY
