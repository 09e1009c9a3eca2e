import time

import numpy as np
import pytest
from benchmarks.growth import exponent, figures_of, fit, timed_pursuits

from benchmarks import growth
from panfocus._threads import map_blocks
from panfocus.sparse import Pursuit


def test_fit_finds_the_exponent():
    assert fit({n: 0.3 * n**1.2 for n in (1, 4, 12, 24, 48)}) == pytest.approx((1.2, 0.3))


def test_noise_hardly_changes_the_exponent(rng):
    sizes = (1, 4, 12, 24, 48)
    found = [exponent({n: n * rng.normal(1, 0.03) for n in sizes}) for _ in range(200)]
    # least squares: deviation 0.03 / sqrt(sum of squared deviations of log n), 9.5 here
    assert np.std(found) == pytest.approx(0.03 / np.sqrt(9.5), rel=0.2)
    assert np.mean(found) == pytest.approx(1, abs=0.003)


def test_growth_with_frames_starts_at_five():
    by_frames = {2: 100.0, 5: 5.0, 10: 10.0, 50: 50.0}
    figures = figures_of({1: 1.0, 48: 48.0}, by_frames, {5: 2.0, 10: 2.1, 50: 2.4})
    assert figures["growth_pixels_exponent"] == pytest.approx(1)
    assert figures["growth_frames_exponent"] == pytest.approx(1)
    assert figures["growth_coding_50_over_5_frames_time"] == pytest.approx(1.2)
    assert figures["growth_2_frames_time"] == 100


def test_coding_time_covers_all_threads_inside_the_context(monkeypatch, rng):
    def busy(seconds):
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass

    def l1_norms(self, signals, *, segments):
        busy(0.05)
        return self.codes(signals)  # a nested call

    def codes(self, signals):
        busy(0.05)

    monkeypatch.setattr(Pursuit, "l1_norms", l1_norms)
    monkeypatch.setattr(Pursuit, "codes", codes)
    pursuit = Pursuit(np.eye(4), max_atoms=1)
    with timed_pursuits() as spent:
        list(map_blocks(lambda _: pursuit.l1_norms(None, segments=1), range(4)))
        busy(0.2)  # not counted
    pursuit.codes(None)
    assert len(spent) == 4
    assert sum(spent) == pytest.approx(0.4, rel=0.1)


def test_coding_is_part_of_a_fusion(rng):
    frames = rng.integers(0, 256, (3, 100, 100, 3), dtype=np.uint8)
    began = time.process_time()
    seconds = growth.coding_seconds(frames)
    assert 0 < seconds < time.process_time() - began


def test_the_plot_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    times = {5: 1.0, 10: 2.2, 50: 9.0}
    growth.plot({"pixels": times, "frames": {2: 0.4} | times, "coding": times}, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
