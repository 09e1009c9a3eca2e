import sys
from unittest.mock import patch

import numpy as np
import pytest
from benchmarks.reliability import Judged

import panfocus as pf
from benchmarks import reliability, rendered_stacks


def test_labels_are_sorted_by_confidence():
    labels = [
        Judged(np.array([0.55, 0.6, 0.97], np.float32), np.array([True, False, True])),
        Judged(np.array([1.0, 0.58], np.float32), np.array([True, False])),
    ]
    low, middle, high = reliability.reliability(labels)
    assert low == pytest.approx((np.mean([0.55, 0.6, 0.58]), 1 / 3, 3 / 5))
    assert middle == pytest.approx((0.97, 1, 1 / 5))
    assert high == pytest.approx((1, 1, 1 / 5))


def test_the_frame_closer_to_the_reference_is_right():
    reference = np.zeros((60, 80, 3), np.uint8)
    frames = np.zeros((2, 60, 80, 3), np.uint8)
    frames[0, :, :40] = 3  # the second frame is right by 9 squared levels; on the other half, neither
    labels = np.broadcast_to((np.arange(60) < 30)[:, None], (60, 80)).astype(np.uint8)
    result = pf.FusionResult(frames[0], labels=labels, confidence=np.full((60, 80), 0.8, np.float32))
    judged = reliability.judged_by_reference(result, frames, reference)
    # 8 pixels on each side are ignored. Of the 9 columns around one, 4 must be before column 40.
    assert judged.right.size == (60 - 16) * (41 - 8)
    assert judged.right.mean() == 0.5


def test_confidence_is_the_accuracy_of_labels(data_dir):
    # Two scenes that were not used to choose settings. Without the division of the log odds by the number of
    # repeated observations, labels with a confidence of 0.97 would be right in 0.72 of the cases.
    scenes = rendered_stacks.scenes("report", ("r06-5", "r09-8"))
    bins = reliability.reliability(
        [reliability.judged_by_depth(pf.fuse(scene.frames), scene) for scene in scenes]
    )
    right = [one.right for one in bins]
    assert len(bins) >= 8
    assert right == sorted(right)
    np.testing.assert_allclose(right, [one.confidence for one in bins], atol=0.08)


def test_the_command_prints_a_table_per_group(data_dir, monkeypatch, capsys):
    one = {group: dict([*settings.items()][:1]) for group, settings in rendered_stacks.SETTINGS.items()}
    monkeypatch.setattr(rendered_stacks, "SETTINGS", one)
    monkeypatch.setattr(sys, "argv", ["reliability"])
    scenes = [(name, half, scene) for name, half, scene in reliability._truth.scenes() if name == "real-mff"]
    with patch.object(reliability._truth, "scenes", lambda: scenes[:2]):
        reliability.main()
    printed = capsys.readouterr().out
    for name in ("rendered, choose", "rendered, report", "real-mff, choose", "real-mff, report"):
        assert f"\n{name}\nconfidence  right" in printed
