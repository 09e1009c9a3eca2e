"""A short form of `make soak`: eight real kills of real runs."""

import os

import pytest
from soak import kills


@pytest.mark.skipif(os.name != "posix", reason="kills")
def test_a_killed_run_leaves_no_half_file_and_loses_nothing(tmp_path):
    outcome = kills.run(8, tmp_path, seed=3)
    assert outcome.failures == []
    assert outcome.killed >= 4


def test_harm_would_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(kills.Scene, "start", lambda self: None)
    monkeypatch.setattr(kills.Scene, "finish", lambda self, process: None)
    scene = kills.Scene(tmp_path, size=30)
    scene.expected = kills._digests(scene.output)
    assert scene.complaints() == []
    (scene.output / "fused.tif").write_bytes(b"half")
    (scene.output / "labels.png").unlink()
    (scene.output / "tmp123").write_bytes(b"")
    (scene.frames / "frame-0.tif").write_bytes(b"")
    (scene.scratch / "frames").write_bytes(b"")
    assert sorted(complaint.partition(":")[0] for complaint in scene.complaints()) == [
        "an original was changed",
        "half a file",
        "left behind",
        "left in the scratch folder",
        "lost",
    ]
