"""Complete runs on small sets."""

import shutil
from itertools import pairwise

import numpy as np
import pytest

from panfocus.errors import FileError, InputError
from panfocus.io.encode import write_image
from panfocus.reproduce import reproduce
from panfocus.reproduce.parameters import curve_section
from small_sets import SMALL, make_scene


def test_private_jug_and_doll_images_fill_their_columns(small_data, reproduction, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(small_data, data)
    rng = np.random.default_rng(8)
    for name in ("jug", "doll"):
        truth, frames = make_scene(rng, (44, 52), 2)
        for letter, frame in zip("AB", frames, strict=True):
            write_image(data / "grayscale6" / f"{name}-{letter}.png", frame)
        if name == "jug":
            write_image(data / "grayscale6" / "jug-ref.png", truth)
    stages = {}
    more = reproduce(
        data, experiment=SMALL, progress=lambda stage, done: stages.setdefault(stage, []).append(done)
    )
    scores, before = more.evidence.grey.scores, reproduction.evidence.grey.scores
    assert {cell: value for cell, value in scores.items() if cell[2] not in ("Jug", "Doll")} == before
    for method in ("DWT", "PCA", "DSIFT", "SR-FM", "SR-CM", "SR-KSVD", "Proposed"):
        measures = {name: {m for r, m, s in scores if (r, s) == (method, name)} for name in ("Jug", "Doll")}
        assert measures == {"Jug": {"NMI", "QABF", "SSIM", "MSE"}, "Doll": {"NMI", "QABF"}}
    assert not any("Jug" in claim.statement for claim in more.claims)
    bodies = {section.identity: section.body for section in more.sections}
    assert "Fig. 9: Doll" in bodies["fused images"]
    assert "no public source" not in bodies["table 1"]
    assert "no public reference" in bodies["table 1"]
    # The rest is computed again, with the same bytes.
    assert {"training data", "dictionaries", "table 2", "masks", "equations 2 to 4"} <= {
        section.identity for section in reproduction.sections if bodies[section.identity] == section.body
    }
    assert list(stages) == [
        "learn dictionaries", "table 1", "table 2", "settings of the proposed method", "variants", "masks",
        "global reconstruction", "draws", "equations 2 to 4", "noise", "figures",
    ]  # fmt: skip
    for shares in stages.values():
        assert shares[0] == 0
        assert shares[-1] == 1
        assert all(a <= b for a, b in pairwise(shares))


def test_plots_have_reproducible_bytes(reproduction):
    (body,) = (section.body for section in reproduction.sections if section.identity == "parameters")
    assert curve_section(reproduction.evidence.curves, reproduction.evidence.sweep).body == body


def test_scenes_without_labelled_patches_are_rejected_before_the_computation(small_data, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(small_data, data)
    for truth in (data / "groundtruth" / "real-mff").glob("*-GT.png"):
        for part in "AB":  # in focus everywhere
            shutil.copy(truth, truth.with_name(truth.name.replace("GT", part)))
    stages = []
    with pytest.raises(InputError):
        reproduce(data, experiment=SMALL, progress=lambda stage, done: stages.append(stage))
    assert not stages


def test_a_damaged_image_is_named_before_the_computation(small_data, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(small_data, data)
    cut = data / "groundtruth" / "real-mff" / "scene-1-GT.png"
    cut.write_bytes(cut.read_bytes()[:500])
    stages = []
    with pytest.raises(FileError, match=r"scene-1-GT\.png"):
        reproduce(data, experiment=SMALL, progress=lambda stage, done: stages.append(stage))
    assert not stages
