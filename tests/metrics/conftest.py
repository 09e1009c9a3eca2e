"""Reference values of the field's scripts, and the pictures they belong to."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from PIL import Image

from panfocus.metrics import matlab_gray


@dataclass(frozen=True)
class Case:
    """A fused image, its sources and the values that the scripts give for them."""

    name: str
    sources: list[np.ndarray]
    fused: np.ndarray
    values: dict[str, float]

    def crop(self, start, stop):
        cut = np.s_[start:stop, start:stop]
        return Case(self.name, [source[cut] for source in self.sources], self.fused[cut], self.values)


@pytest.fixture(scope="session")
def golden_table(golden_dir):
    return json.loads((golden_dir / "metrics.json").read_text())


@pytest.fixture(scope="session")
def pairs(golden_dir, golden_table):
    """All nine cases of two sources, grey as they went into the scripts."""
    return [
        Case(
            case["id"],
            [read_gray(golden_dir / case[role]["gray"]) for role in "AB"],
            read_gray(golden_dir / case["F"]["gray"]),
            case["metrics"],
        )
        for case in golden_table["triples"]
    ]


@pytest.fixture(scope="session")
def triples(golden_dir, golden_table):
    """Both cases of three sources."""
    return [
        Case(
            case["id"],
            [read_gray(golden_dir / source["file"]) for source in case["sources"]],
            read_gray(golden_dir / case["F"]["file"]),
            case["metrics"],
        )
        for case in golden_table["triples_k3"]
    ]


def read_gray(path):
    with Image.open(path) as picture:
        return matlab_gray(np.asarray(picture))
