"""The legend of the maps."""

import math

import numpy as np
import pytest
from viewer_screen import box, chooser, screen

from panfocus.show.colormap import ramp

WITH_ALL_MAPS = """(depth) => {
    const [first] = app.jobs;
    const layers = ["fused", "labels", "depth", "confidence", "never_in_focus"];
    app.announced.length = 0;
    app.viewer.show({ ...first, id: "b", result: { ...first.result, layers, report: { depth } } });
}"""


def bar(page):
    """Return the colours of the bar from its left to its right end, (width, 3)."""
    area = box(page, ".legend .colours")
    row = screen(page)[int(area["y"] + area["height"] / 2)]
    return row[math.ceil(area["x"]) + 1 : int(area["x"] + area["width"]) - 1]  # without its edge


@pytest.mark.parametrize("name", ["labels", "depth"])
def test_legend_has_the_colours_of_the_map(page, name):
    legend = page.locator(".legend")
    assert not legend.is_visible()
    chooser(page, "Overlay").select_option(name)
    assert legend.locator("[aria-hidden]").inner_text().split("\n")[1:] == ["frame 1", "frame 3"]
    seen = bar(page)
    wanted = ramp()[np.linspace(0, 255, len(seen)).round().astype(int)]
    assert np.abs(seen - wanted).max() <= 20  # of 255: the bar is linear between its stops
    page.wait_for_function(
        "() => app.announced.some((text) => /frame 1, .* frame 3/.test(text))"
    )  # for screen readers
    chooser(page, "Overlay").select_option("")
    assert not legend.is_visible()


def test_legend_shows_depth_as_a_length(page):
    page.evaluate(WITH_ALL_MAPS, {"step": 2.5, "unit": "um"})
    chooser(page, "Overlay").select_option("depth")
    text = page.locator(".legend").inner_text()
    assert "frame 1 (0 µm)" in text
    assert "frame 3 (5 µm)" in text


def test_legend_of_confidence_and_never_in_focus(page):
    page.evaluate(WITH_ALL_MAPS, {})
    chooser(page, "Overlay").select_option("confidence")
    seen = bar(page)
    assert seen[0].max() <= 4 and seen[-1].min() >= 251
    chooser(page, "Overlay").select_option("never_in_focus")
    assert (bar(page) == (255, 0, 128)).all()


def test_legend_has_an_entry_for_each_visible_map(page):
    chooser(page, "Show").select_option("depth")
    chooser(page, "Overlay").select_option("labels")
    assert page.locator(".legend li").count() == 2


@pytest.mark.parametrize("width", [1280, 390])
def test_legend_covers_nothing(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    chooser(page, "Overlay").select_option("labels")
    legend = box(page, ".legend")
    for other in (box(page, part) for part in (".viewer-bar", ".stage", ".viewer-line")):
        apart = (
            legend["y"] >= other["y"] + other["height"]
            or legend["y"] + legend["height"] <= other["y"]
            or legend["x"] >= other["x"] + other["width"]
        )
        assert apart
    assert legend["x"] >= 0 and legend["x"] + legend["width"] <= width
