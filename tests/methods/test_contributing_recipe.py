"""Run the method of CONTRIBUTING.md, installed as another package."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus.errors import InputError
from panfocus.io.encode import write_image
from panfocus.methods import _method, get_method, method_names, parse_settings

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def method(tmp_path, monkeypatch) -> str:
    """Install the example as the package `mypackage`; return the name of its method."""
    text = CONTRIBUTING.read_text("utf-8")
    section = text.partition("## Add a method")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (project,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    (entry,) = tomllib.loads(project)["project"]["entry-points"]["panfocus.methods"].items()
    (tmp_path / "mypackage.py").write_text(code, "utf-8")
    metadata = tmp_path / "mypackage-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text(f"[panfocus.methods]\n{entry[0]} = {entry[1]}\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    _method._registered.cache_clear()
    yield entry[0]
    sys.modules.pop("mypackage", None)
    _method._registered.cache_clear()


@pytest.fixture
def frames(rng) -> np.ndarray:
    """Return two frames (40, 60, 3); the first is sharp on the left, the second on the right."""
    sharp = rng.integers(0, 256, (40, 60, 3)).astype(np.uint8)
    soft = gaussian_filter(sharp, (2, 2, 0))
    left = (np.arange(60) < 30)[:, None]
    return np.stack([np.where(left, sharp, soft), np.where(left, soft, sharp)])


def test_example_is_registered_and_fuses(method, frames):
    assert method in method_names()
    result = pf.fuse(frames, method)
    away = np.abs(np.arange(60) - 29.5) > 6
    np.testing.assert_array_equal(
        result.labels[:, away], (np.arange(60) >= 30)[away][None].repeat(40, axis=0)
    )
    np.testing.assert_array_equal(result.image[:, :20], frames[0, :, :20])
    assert result.report["method"] == method


def test_setting_of_the_example_is_checked_and_used(method, frames):
    assert not pf.fuse(frames, method, threshold=1e3).labels.any()
    assert parse_settings(method, {"threshold": "0.5"}) == {"threshold": 0.5}
    with pytest.raises(InputError) as caught:
        get_method(method, threshold=-1.0)
    assert caught.value.facts["setting"] == "threshold"


def test_command_knows_the_example(method, run, tmp_path, frames):
    for k, frame in enumerate(frames):
        write_image(tmp_path / f"{k}.png", frame)
    ran = run("fuse", tmp_path / "0.png", tmp_path / "1.png", "-o", tmp_path / "out.png", "--method", method)
    assert ran.code == 0
    assert (tmp_path / "out.png").exists()
