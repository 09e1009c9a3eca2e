"""Values of the field's customary scripts under GNU Octave; how they were made is told beside them."""

import json

import numpy as np
import pytest
from PIL import Image

from panfocus import metrics

METRICS = {"NMI": metrics.nmi, "QABF": metrics.qabf}
PAIRS = [
    "lytro_01_DSIFT",
    "lytro_03crop_DSIFT",
    "lytro_05_CNN",
    "lytro_07crop_MWGF",
    "lytro_10_GFF",
    "lytro_13crop_CSR",
    "lytro_15_BFMF",
    "lytro_17crop_GFDF",
    "lytro_20_IFCNN",
]
TRIPLES = ["triple_01_MEAN", "triple_02_MEAN"]


@pytest.fixture(scope="module")
def golden(golden_dir):
    values = json.loads((golden_dir / "metrics.json").read_text())
    cases = {case["id"]: case for case in values["triples"] + values["triples_k3"]}
    assert sorted(cases) == sorted(PAIRS + TRIPLES)
    return cases


def matlab_grey(path):
    """Grey as MATLAB's rgb2gray has it: the inverse NTSC matrix in full precision, rounded half-up."""
    with Image.open(path) as picture:
        pixels = np.asarray(picture).astype(float)
    if pixels.ndim == 3:
        pixels = pixels @ [0.298936021293775, 0.587043074451121, 0.114020904255103]
    return np.floor(pixels + 0.5).astype(np.uint8)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("case", PAIRS)
def test_two_sources_agree(golden, golden_dir, case, name):
    a, b, fused = (matlab_grey(golden_dir / golden[case][role]["gray"]) for role in "ABF")
    assert METRICS[name]([a, b], fused) == pytest.approx(golden[case]["metrics"][name], abs=1e-9)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("case", TRIPLES)
def test_three_sources_agree(golden, golden_dir, case, name):
    sources = [matlab_grey(golden_dir / source["file"]) for source in golden[case]["sources"]]
    fused = matlab_grey(golden_dir / golden[case]["F"]["file"])
    assert METRICS[name](sources, fused) == pytest.approx(golden[case]["metrics"][name], abs=1e-9)
