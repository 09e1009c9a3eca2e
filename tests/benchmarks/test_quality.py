from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import quality


def test_differing_pixels_are_counted_over_all_stacks(monkeypatch):
    def fused(frames, quality):
        maps = SimpleNamespace(
            labels=np.zeros(frames.shape[1:3], int), never_in_focus=np.zeros(frames.shape[1:3], bool)
        )
        maps.labels.flat[: {"exact": 0, "high": 3, "fast": 8}[quality]] = 1
        maps.never_in_focus.flat[: {"exact": 5, "high": 5, "fast": 4}[quality]] = True
        return maps

    monkeypatch.setattr(quality, "fused", fused)
    found = quality.differences([np.zeros((2, 10, 10, 3)), np.zeros((2, 10, 30, 3))])
    assert found == pytest.approx(
        {
            "quality_high_lytro_labels_differ": 6 / 400,
            "quality_high_lytro_never_in_focus_differ": 0,
            "quality_fast_lytro_labels_differ": 16 / 400,
            "quality_fast_lytro_never_in_focus_differ": 2 / 400,
        }
    )


def test_comparison_is_skipped_without_the_setting(monkeypatch, capsys):
    monkeypatch.setattr(quality, "setting_names", lambda _: ["composition"])
    assert quality.run() == {}
    assert "skipped" in capsys.readouterr().out
