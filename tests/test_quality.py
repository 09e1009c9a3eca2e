from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import quality


def test_labels_that_differ_are_counted_over_all_pixels(monkeypatch):
    def both(frames):
        exact = np.zeros(frames.shape[1:3], int)
        high = exact.copy()
        high.flat[:3] = 1
        return SimpleNamespace(labels=high), SimpleNamespace(labels=exact)

    monkeypatch.setattr(quality, "both", both)
    stacks = [np.zeros((2, 10, 10, 3)), np.zeros((2, 10, 30, 3))]
    assert quality.labels_differ(stacks) == pytest.approx(6 / 400)


def test_without_the_setting_the_comparison_is_skipped_by_name(monkeypatch, capsys):
    monkeypatch.setattr(quality, "setting_names", lambda _: ["composition"])
    assert quality.run() == {}
    assert "skipped: the method panfocus has no setting quality" in capsys.readouterr().out
