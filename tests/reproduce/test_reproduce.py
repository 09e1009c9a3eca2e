"""Whole runs on small sets."""

import shutil
from itertools import pairwise

import numpy as np
import pytest

from panfocus.errors import FileError, InputError
from panfocus.io.encode import write_image
from panfocus.reproduce import reproduce
from panfocus.reproduce.numbers import as_csv
from small_sets import SMALL, make_scene


def numbers_of(reproduction):
    return as_csv(number for section in reproduction.sections for number in section.numbers)


def test_a_second_run_gives_the_same_page_and_tells_where_it_stands(small_data, reproduction):
    told = {}
    again = reproduce(
        small_data, plan=SMALL, progress=lambda stage, done: told.setdefault(stage, []).append(done)
    )
    assert numbers_of(again) == numbers_of(reproduction)
    assert again.claims == reproduction.claims
    assert [section.body for section in again.sections] == [s.body for s in reproduction.sections]
    assert list(told) == [
        "learn dictionaries", "table 1", "table 2", "variants", "masks", "global reconstruction",
        "settings of the proposed method", "draws", "equations 2 to 4", "figures",
    ]  # fmt: skip
    for shares in told.values():
        assert shares[0] == 0
        assert shares[-1] == 1
        assert all(a <= b for a, b in pairwise(shares))


def test_a_users_jug_and_doll_fill_their_columns(small_data, reproduction, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(small_data, data)
    rng = np.random.default_rng(8)
    for name in ("jug", "doll"):
        truth, frames = make_scene(rng, (44, 52), 2)
        for letter, frame in zip("AB", frames, strict=True):
            write_image(data / "grayscale6" / f"{name}-{letter}.png", frame)
        if name == "jug":
            write_image(data / "grayscale6" / "jug-ref.png", truth)
    more = reproduce(data, plan=SMALL)
    scores, before = more.evidence.grey.scores, reproduction.evidence.grey.scores
    assert {cell: value for cell, value in scores.items() if cell[2] not in ("Jug", "Doll")} == before
    for method in ("DWT", "PCA", "DSIFT", "SR-FM", "SR-CM", "SR-KSVD", "Proposed"):
        measures = {name: {m for r, m, s in scores if (r, s) == (method, name)} for name in ("Jug", "Doll")}
        assert measures == {"Jug": {"NMI", "QABF", "SSIM", "MSE"}, "Doll": {"NMI", "QABF"}}
    assert not any("Jug" in claim.statement for claim in more.claims)
    bodies = {section.identity: section.body for section in more.sections}
    assert "Fig. 9: Doll" in bodies["fused pictures"]
    assert "no public source" not in bodies["table 1"]
    assert "no public reference" in bodies["table 1"]


def test_scenes_in_which_nothing_can_be_labelled_are_refused_before_anything_is_computed(
    small_data, tmp_path
):
    data = tmp_path / "data"
    shutil.copytree(small_data, data)
    for truth in (data / "groundtruth" / "real-mff").glob("*-GT.png"):
        for part in "AB":  # in focus everywhere
            shutil.copy(truth, truth.with_name(truth.name.replace("GT", part)))
    began = []
    with pytest.raises(InputError, match="no patch of the scenes with ground truth can be labelled"):
        reproduce(data, plan=SMALL, progress=lambda stage, done: began.append(stage))
    assert not began


def test_a_damaged_picture_that_is_used_last_is_named_before_anything_is_computed(small_data, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(small_data, data)
    cut = data / "groundtruth" / "real-mff" / "scene-1-GT.png"
    cut.write_bytes(cut.read_bytes()[:500])
    began = []
    with pytest.raises(FileError, match=r"scene-1-GT.png: cut off before its end"):
        reproduce(data, plan=SMALL, progress=lambda stage, done: began.append(stage))
    assert not began
