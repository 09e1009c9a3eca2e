"""Layers: comparison, overlay and updates."""

import pytest
from pretend_server import BLUE
from viewer_screen import COL_STEP, LAYERS, chooser, screen, seen, settle, view, within


def test_divider_is_moved_by_mouse_and_keys(page):
    chooser(page, "Compare with").select_option("frame-1")
    divider = page.get_by_role("slider", name="Divider of the comparison")
    y = within(page, 0.5, 0.8)[1]

    def layers(*parts: float) -> list[str]:
        shown = screen(page)
        return [LAYERS[int(shown[y, within(page, part, 0)[0], 2])] for part in parts]

    assert layers(0.3, 0.48, 0.52, 0.7) == ["fused", "fused", "frame-1", "frame-1"]
    page.mouse.move(*within(page, 0.5, 0.5))
    page.mouse.down()
    page.mouse.move(*within(page, 0.7, 0.5), steps=4)
    page.mouse.up()
    assert layers(0.52, 0.67, 0.73) == ["fused", "fused", "frame-1"]
    assert divider.get_attribute("aria-valuenow") == "70"
    page.keyboard.press("ArrowLeft")
    assert divider.get_attribute("aria-valuenow") == "68"
    page.keyboard.press("Home")
    assert layers(0.3, 0.7) == ["frame-1", "frame-1"]
    page.keyboard.press("End")
    assert layers(0.3, 0.7) == ["fused", "fused"]
    # The line stays where it is on the screen when the picture moves below it.
    view(page, "compare('frame-1', 0.4)")
    view(page, "goTo(700, 900, 1)")
    assert layers(0.1, 0.38, 0.42, 0.9) == ["fused", "fused", "frame-1", "frame-1"]
    chooser(page, "Compare with").select_option("")
    assert layers(0.1, 0.9) == ["fused", "fused"]
    assert divider.count() == 0


def test_other_result_is_compared(page, server):
    chooser(page, "Compare with").select_option(label="job b")
    settle(page)
    assert page.locator(".caption.right").inner_text() == "job b: Result"
    assert view(page, "panes.main.slots.compared.source.key").startswith("/api/jobs/b/tiles/fused")
    page.evaluate("() => { const state = app.state.get(); state.jobs = [state.jobs[0]]; app.changed(); }")
    settle(page)  # the other job was deleted
    assert chooser(page, "Compare with").input_value() == ""
    assert not page.locator(".divider").is_visible()


def test_result_of_another_size_is_listed_as_disabled(page):
    page.evaluate(
        """() => {
            const state = app.state.get();
            const [first, second] = state.jobs;
            const smaller = { ...second.result, width: 2998, height: 1998 };
            state.jobs = [first, second, { ...second, id: "c", name: "job c", result: smaller }];
            app.changed();
        }"""
    )
    others = chooser(page, "Compare with").locator("optgroup[label='Other results'] option")
    assert others.all_inner_texts() == ["job b", "job c (other size: 2998 × 1998)"]
    assert [other.is_enabled() for other in others.all()] == [True, False]


def test_side_by_side_shows_the_same_place(page):
    chooser(page, "Compare with").select_option("frame-2")
    chooser(page, "Mode").select_option("beside")
    settle(page)
    page.locator(".stage").focus()
    page.keyboard.press("1")
    settle(page)
    assert [view(page, f"panes.{pane}.scale()") for pane in ("main", "beside")] == pytest.approx([1, 1])
    page.keyboard.press("ArrowLeft")
    left, right = (seen(page, *within(page, 0.3, 0.6, pane)) for pane in (".pane.main", ".pane.beside"))
    assert (left[2], right[2]) == ("fused", "frame-2")
    assert left[:2] == pytest.approx(right[:2], abs=COL_STEP)
    x, y = within(page, 0.5, 0.5, ".pane.beside")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y - 30, steps=3)
    page.mouse.up()
    moved = [seen(page, *within(page, 0.3, 0.6, pane)) for pane in (".pane.main", ".pane.beside")]
    assert moved[0][:2] == pytest.approx(moved[1][:2], abs=COL_STEP)
    assert left[1] - moved[0][1] == pytest.approx(60, abs=2 * COL_STEP)
    chooser(page, "Compare with").select_option("")
    assert not page.locator(".pane.beside").is_visible()


def test_overlay_has_the_selected_opacity(page):
    x, y = within(page, 0.4, 0.4)
    chooser(page, "Overlay").select_option("labels")
    for strength in (50, 100):
        page.get_by_label("Opacity", exact=True).fill(str(strength))
        blue = screen(page)[y, x, 2]
        assert blue == pytest.approx(BLUE["labels"] * strength / 100, abs=3)
    chooser(page, "Overlay").select_option("")
    assert screen(page)[y, x, 2] == BLUE["fused"]


def test_switching_the_layer_keeps_the_view(page):
    view(page, "goTo(500, 700, 1)")
    settle(page)
    x, y = within(page, 0.5, 0.5)
    before = seen(page, x, y)
    chooser(page, "Show").select_option("frame-0")
    assert seen(page, x, y) == (*before[:2], "frame-0")


def test_changed_layer_is_reloaded(page, server):
    view(page, "refresh('retouched', 7)")
    view(page, "show(app.viewer.job(), 'retouched')")
    settle(page)
    view(page, "refresh('retouched', 8)")
    settle(page)
    versions = [version for layer, _, version in server.asked if layer == "retouched"]
    assert set(versions) == {"7", "8"}
    assert seen(page, *within(page, 0.5, 0.6))[2] == "retouched"


def test_viewer_follows_strokes_of_another_tab(page, server):
    view(page, "show(app.viewer.job(), 'retouched')")
    page.evaluate(
        """() => {
            const state = app.state.get();
            const [first, second] = state.jobs;
            state.jobs = [{ ...first, retouch: { version: 13, n_strokes: 1 } }, second];
            app.changed();
        }"""
    )
    settle(page)
    assert ("retouched", "13") in {(layer, version) for layer, _, version in server.asked}
