"""Depth maps in physical units, and the depth sweep."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import panfocus as pf
from panfocus.io.read_stack import read_image


def test_depth_is_in_the_unit_of_the_step(lights, run, stack):
    files = ("--depth", "depth.tif", "--depth-colour", "colour.png", "--report", "report.json")
    assert run("fuse", "white", "-o", "fused.png", *files, "--step", "2.5µm").code == 0
    expected = 2.5 * pf.fuse(stack).depth.astype(np.float64)
    np.testing.assert_allclose(read_image("depth.tif"), expected, rtol=1e-6)
    with Image.open("depth.tif") as file:
        assert file.tag_v2[270] == "depth from the first frame, in um"
    assert json.loads(Path("report.json").read_text())["depth"] == {
        "step": 2.5,
        "unit": "um",
        "per_level_of_16_bit": 10 / 65535,
    }


def test_16_bit_depth_map_carries_its_scale(lights, run, stack):
    assert run("fuse", "white", "-o", "fused.png", "--depth", "depth.png", "--step", "0.1mm").code == 0
    values = read_image("depth.png")
    assert values.dtype == np.uint16
    with Image.open("depth.png") as file:
        scale, unit = float(file.text["DepthScale"]), file.text["DepthUnit"]
    expected = 0.1 * pf.fuse(stack).depth.astype(np.float64)
    assert unit == "mm"
    np.testing.assert_allclose(values * scale, expected, atol=0.51 * scale)


@pytest.mark.parametrize("suffix", [".webp", ".gif", ".png"])
def test_sweep_lights_near_places_before_far_ones(lights, run, suffix):
    assert run("fuse", "white", "-o", "fused.png", "--sweep", f"sweep{suffix}").code == 0
    with Image.open(f"sweep{suffix}") as file:
        assert file.n_frames == 24
        light = []
        for i in range(file.n_frames):
            file.seek(i)
            pixels = np.asarray(file.convert("L"), float)[20:40]
            light.append([pixels[:, 5:15].mean(), pixels[:, 45:55].mean(), pixels[:, 85:95].mean()])
    first, middle, last = np.argmax(light, axis=0)
    assert first < 4
    assert 8 < middle < 16
    assert last > 20
