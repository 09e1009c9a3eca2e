"""A short form of `make soak`: kill a few runs of the command."""

import os

import pytest
from soak import kills


@pytest.mark.skipif(os.name != "posix", reason="kills")
def test_killed_run_damages_no_file(tmp_path):
    counts = kills.run(2, tmp_path, seed=3, size=300)  # while files are written, and at any moment
    assert counts.failures == []
    assert counts.killed == 2


def test_damage_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(kills.Scene, "start", lambda self: None)
    monkeypatch.setattr(kills.Scene, "finish", lambda self, process: None)
    scene = kills.Scene(tmp_path, size=30)
    scene.expected = kills._digests(scene.output)
    assert scene.find_damage() == []
    (scene.output / "fused.tif").write_bytes(b"half")
    (scene.output / "labels.png").unlink()
    (scene.output / "tmp123").write_bytes(b"")
    (scene.frames / "frame-0.tif").write_bytes(b"")
    (scene.scratch / "frames").write_bytes(b"")
    assert sorted(damage.partition(":")[0] for damage in scene.find_damage()) == [
        "changed original",
        "incomplete file",
        "lost file",
        "scratch files",
        "unexpected file",
    ]
