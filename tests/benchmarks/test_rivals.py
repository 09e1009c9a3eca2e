import sys

import numpy as np
import pytest

from benchmarks import rivals
from panfocus.io.read_stack import read_image


def test_each_rival_writes_one_result_per_scene(scenes_dir, small_scenes, tmp_path, monkeypatch, capsys):
    program = tmp_path / "first.py"
    program.write_text("import shutil, sys\nshutil.copy(sys.argv[2], sys.argv[1])\n")
    arguments = ["rivals", str(scenes_dir), str(tmp_path / "out"), "--pyramid", str(program)]
    monkeypatch.setattr(sys, "argv", arguments)
    rivals.main()
    for name, (a, b, _) in small_scenes.items():
        mean = np.rint(np.mean([a, b], axis=0))
        assert read_image(tmp_path / "out/average" / f"{name}.png") == pytest.approx(mean, abs=1)  # halves
        np.testing.assert_array_equal(read_image(tmp_path / "out/pyramid" / f"{name}.png"), a)
    assert "average: 3 results" in capsys.readouterr().out
