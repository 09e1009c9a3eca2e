"""The Inspect tool: details of all frames at a place."""

import pytest
from pretend_server import HEIGHT, WIDTH, place
from viewer_screen import COL_STEP, chooser, seen, view, within


def test_only_visible_details_are_requested(page, server):
    n = 100
    page.evaluate(
        """(n) => {
            const { result } = app.jobs[0];
            const names = Array.from({ length: n }, (_, k) => `${k}.tif`);
            app.viewer.show({ ...app.jobs[0], id: "c", result: { ...result, names, n_frames: n } });
        }""",
        n,
    )
    frames = [{"name": f"{k}.tif", "weight": k == 70, "sharpness": k / n} for k in range(n)]
    found = place(900, 900) | {"label": 70, "frames": frames}
    page.route("**/api/jobs/c/place?*", lambda route: route.fulfill(json=found))
    page.mouse.click(*within(page, 0.5, 0.5))
    page.locator(".crops li").nth(n).wait_for(state="attached")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.crops img')].some((cut) => cut.naturalWidth)"
    )
    page.wait_for_load_state("networkidle")
    assert page.locator(".crops li").count() == n + 1
    assert 0 < len(server.cut) < n / 2
    chooser(page, "Order").select_option("weight")
    assert (
        page.locator(".crops .chosen").evaluate("(item) => [...item.parentElement.children].indexOf(item)")
        == 1
    )
    chooser(page, "Order").select_option("order")


def test_place_is_inspected_by_keyboard(page):
    page.locator(".stage").focus()
    for key in ["c", "ArrowRight", "Shift+ArrowDown", "Enter"]:
        page.keyboard.press(key)
    step = round(1 / view(page, "scale()"))
    big = round(20 / view(page, "scale()"))
    row, col = HEIGHT // 2 + big, WIDTH // 2 + step
    facts = page.locator("#inspect dl")
    facts.wait_for()
    assert f"x {col}, y {row}" in page.locator("#inspect dd").first.inner_text()
    assert "Frame 2: middle.tif" in facts.inner_text()
    page.wait_for_function("() => app.announced.some((text) => text.startsWith('Position: x'))")
    assert page.get_by_role("button", name="Keyboard cursor").get_attribute("aria-pressed") == "true"


def test_click_shows_details_of_all_frames(page):
    x, y = within(page, 0.6, 0.3)
    chosen = view(page, f"toImage({x}, {y})")
    page.mouse.click(x, y)
    cuts = page.locator(".crops li")
    cuts.first.wait_for()
    names = ["Result", "Frame 1: near.tif", "Frame 2: middle.tif", "Frame 3: far.tif"]
    assert [button.text_content() for button in cuts.get_by_role("button").all()] == names
    chooser(page, "Order").select_option("weight")
    assert cuts.nth(1).get_by_role("button").text_content() == names[2]
    assert cuts.nth(1).locator("meter").first.evaluate("meter => meter.value") == 0.75
    assert "Weight 75\N{NO-BREAK SPACE}%" in cuts.nth(1).text_content()
    assert cuts.nth(1).get_attribute("class") == "chosen"
    cuts.nth(3).get_by_role("button").click()
    row, col, layer = seen(page, *within(page, 0.5, 0.5))
    assert layer == "frame-2"
    assert (row, col) == pytest.approx((chosen["row"], chosen["col"]), abs=2 * COL_STEP)


@pytest.mark.parametrize(
    ("scale", "told"),
    [
        ({"step": 1.0, "unit": "frames"}, "frame 2.25"),
        ({"step": 5.0, "unit": "um"}, "frame 2.25, 6.25 µm from frame 1"),
        ({"step": 0.1, "unit": "mm"}, "frame 2.25, 0.125 mm from frame 1"),
    ],
    ids=["frames", "um", "mm"],
)
def test_depth_is_shown_as_frame_and_length(page, scale, told):
    page.evaluate(
        """(depth) => {
            const { result } = app.jobs[0];
            app.viewer.show({ ...app.jobs[0], id: "c", result: { ...result, report: { depth } } });
        }""",
        scale,
    )
    page.mouse.click(*within(page, 0.5, 0.5))
    fact = page.locator("#inspect dl > div", has_text="Depth").locator("dd")
    fact.wait_for()
    assert fact.inner_text() == told
