"""The library that the page ships is the one that web/package-lock.json pins, byte for byte."""

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "src" / "panfocus" / "app" / "static" / "vendor"


def test_shipped_files_are_those_of_the_locked_version():
    record = json.loads((ROOT / "web" / "vendor.json").read_text())["openseadragon"]
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    locked = lock["node_modules/openseadragon"]
    wanted = json.loads((ROOT / "web" / "package.json").read_text())["devDependencies"]["openseadragon"]
    # The record was written beside the lock file when the files were copied: vendor.mjs.
    assert record["version"] == locked["version"] == wanted
    assert record["integrity"] == locked["integrity"]
    shipped = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir()}
    assert shipped == record["sha256"]


def test_the_licence_is_shipped_and_the_file_names_its_version():
    assert "OpenSeadragon contributors" in (VENDOR / "openseadragon.LICENSE.txt").read_text()
    version = json.loads((ROOT / "web" / "vendor.json").read_text())["openseadragon"]["version"]
    assert (VENDOR / "openseadragon.min.js").read_text().startswith(f"//! openseadragon {version}\n")
