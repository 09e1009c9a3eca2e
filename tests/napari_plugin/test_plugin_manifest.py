"""The manifest of the plugin."""

import subprocess
import sys
import tomllib
from pathlib import Path

from npe2 import PluginManifest

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "src" / "panfocus" / "napari_plugin" / "napari.yaml"


def test_manifest_is_valid():
    checked = subprocess.run(
        [sys.executable, "-m", "npe2", "validate", str(MANIFEST)], capture_output=True, text=True, check=True
    )
    assert "valid" in checked.stdout
    assert "invalid" not in checked.stdout.lower() + checked.stderr.lower()
    PluginManifest.from_file(MANIFEST).validate_imports()


def test_entry_point_names_the_manifest():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, file = project["entry-points"]["napari.manifest"]["panfocus"].partition(":")
    assert ROOT.joinpath("src", *module.split("."), file) == MANIFEST
    assert PluginManifest.from_file(MANIFEST).name == project["name"]
