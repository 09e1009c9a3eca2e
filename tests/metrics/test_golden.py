"""Values of the customary scripts under GNU Octave, from the folder `golden`."""

import hashlib

import numpy as np
import pytest
from PIL import Image

from panfocus.metrics import CATALOGUE, fmi, matlab_gray, score

AGREEMENT = 1e-9

# Keys with another name in the table: its QY is wrong in flat windows, QY_flat is guarded as ours is.
GOLDEN_KEY = {"QY": "QY_flat"}
WITHOUT_VALUES = ("PSNR", "PSNR_RGB")  # tested by hand only

# FMI of whole images exists for two pairs only, because the script takes too long.
NUMBER_OF_VALUES = {"FMI": 2, "FMI_gradient_crop40": 6, "FMI_none_crop40": 6}


def assert_agree(cases, key, metric):
    """Compare wherever there is a value, and check the number of values."""
    known = [case for case in cases if key in case.values]
    assert len(known) == NUMBER_OF_VALUES.get(key, len(cases))
    for case in known:
        assert metric(case) == pytest.approx(case.values[key], abs=AGREEMENT), case.name


@pytest.mark.parametrize(
    "metric",
    [metric for metric in CATALOGUE if metric.key not in WITHOUT_VALUES],
    ids=lambda metric: metric.key,
)
def test_two_sources_agree(pairs, metric):
    key = GOLDEN_KEY.get(metric.key, metric.key)
    if metric.kind == "sources":
        assert_agree(pairs, key, lambda case: metric.function(case.sources, case.fused))
    elif metric.kind == "single":
        assert_agree(pairs, key, lambda case: metric.function(case.fused))
    else:
        for i, letter in enumerate("AB"):
            assert_agree(
                pairs, f"{key}_{letter}F", lambda case, i=i: metric.function(case.sources[i], case.fused)
            )


@pytest.mark.parametrize(
    ("key", "feature", "stop"),
    [("FMI_crop80", "edge", 130), ("FMI_gradient_crop40", "gradient", 90), ("FMI_none_crop40", "none", 90)],
)
def test_features_of_fmi_agree_on_crops(pairs, key, feature, stop):
    crops = [case.crop(50, stop) for case in pairs]
    assert_agree(crops, key, lambda case: fmi(case.sources, case.fused, feature=feature))


@pytest.mark.parametrize("key", ["NMI", "QABF"])
def test_three_sources_agree(triples, key):
    assert_agree(triples, key, lambda case: score(case.sources, case.fused, keys=[key])[key])


def test_score_matches_the_table(pairs):
    case = min(pairs, key=lambda case: case.fused.size)
    values = case.values | {"QY": case.values["QY_flat"]}
    scores = score(case.sources, case.fused)
    for key in scores.keys() & values.keys():
        assert scores[key] == pytest.approx(values[key], abs=AGREEMENT), key
    # Variants of covered metrics.
    other = {"NMI_raw", "QY_flat", "FMI_crop80", "FMI_gradient_crop40", "FMI_none_crop40"}
    assert scores.keys() >= values.keys() - other


def test_grey_of_colour_files_is_bit_exact(golden_dir, golden_table):
    files = [case[role] for case in golden_table["triples"] for role in "ABF"]
    files += [source for case in golden_table["triples_k3"] for source in case["sources"]]
    for file in files:
        with Image.open(golden_dir / file["file"]) as picture:
            gray = matlab_gray(np.asarray(picture))
        assert hashlib.sha256(gray.tobytes()).hexdigest() == file["gray_pixels_sha256"], file["file"]
