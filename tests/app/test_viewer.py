"""The viewer in a real browser. What is seen is told by the colours of the screen (see pretend_server)."""

import io
from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import pytest
from PIL import Image
from pretend_server import BLUE, HEIGHT, MARK, WIDTH, PretendServer, place, serving

COL_STEP, ROW_STEP = WIDTH / 250, HEIGHT / 250  # what one step of red and of green means
LAYERS = {blue: name for name, blue in BLUE.items()}
SETTLED = """() => {
    const panes = Object.values(app.viewer.panes).filter((pane) => !pane.element.hidden);
    const items = panes.flatMap((pane) => Object.values(pane.slots));
    return items.every(({ source, item, old }) => (!source || item?.getFullyLoaded()) && !old)
        && panes.every(({ osd }) => !osd.isAnimating());
}"""

RESET = """() => {
    const { viewer } = app;
    app.state.get().jobs = app.jobs;
    app.changed();
    viewer.setTool(null);
    viewer.cursor.show(false);
    viewer.show(null);
    viewer.compare(null, 0.5);
    viewer.overlay(null, 0.5);
    viewer.show(app.jobs[0], "fused");
    viewer.fit();
    scrollTo(0, 0);
}"""


@pytest.fixture(scope="module")
def serves() -> Iterator[PretendServer]:
    with serving() as started:
        yield started


@pytest.fixture(scope="module")
def opened(chromium, serves):
    """Open the page once; it is heard what it complains of, the policy's refusals included."""
    opened = chromium.new_page(viewport={"width": 1280, "height": 900})
    opened.complaints = []
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.on("console", lambda said: said.type == "error" and opened.complaints.append(said.text))
    opened.goto(f"http://127.0.0.1:{serves.server_port}/")
    yield opened
    opened.close()


@pytest.fixture
def page(opened):
    """Give the page as it is at first: the fused picture, fitted."""
    opened.set_viewport_size({"width": 1280, "height": 900})
    opened.wait_for_function("() => window.app")
    opened.evaluate(RESET)
    settle(opened)
    yield opened
    assert opened.complaints == []


@pytest.fixture
def server(serves) -> PretendServer:
    serves.asked.clear()
    serves.cut.clear()
    return serves


def settle(page) -> None:
    for _ in range(2):  # what was asked for begins with the next frame; what ends is drawn with the next
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.wait_for_function(SETTLED)


def screen(page) -> np.ndarray:
    settle(page)
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)


def box(page, selector: str = ".pane.main") -> dict[str, float]:
    return page.locator(selector).bounding_box()


def within(page, right: float, down: float, selector: str = ".pane.main") -> tuple[int, int]:
    """Return the point of the window at parts of a pane's width and height."""
    area = box(page, selector)
    return int(area["x"] + right * area["width"]), int(area["y"] + down * area["height"])


def seen(page, x: int, y: int) -> tuple[float, float, str]:
    """Return row, column and layer of the pixel at a point of the window."""
    red, green, blue = screen(page)[y, x]
    return green * ROW_STEP, red * COL_STEP, LAYERS[int(blue)]


def chooser(page, name: str):
    return page.get_by_role("combobox", name=name, exact=True)


def view(page, call: str) -> object:
    return page.evaluate(f"() => app.viewer.{call}")


@pytest.mark.parametrize("zoom", ["fit()", "zoom(1)", "zoom(2)", "goTo(300, 2500, 4)"])
def test_places_are_those_of_the_pixels_seen(page, zoom):
    view(page, zoom)
    for right, down in [(0.3, 0.2), (0.5, 0.55), (0.65, 0.9)]:
        x, y = within(page, right, down)
        row, col, layer = seen(page, x, y)
        told = view(page, f"toImage({x + 0.5}, {y + 0.5})")
        half_pixel = max(1, 1 / view(page, "scale()"))
        assert row - half_pixel <= told["row"] <= row + ROW_STEP + half_pixel
        assert col - half_pixel <= told["col"] <= col + COL_STEP + half_pixel
        assert layer == "fused"


def test_one_pixel_is_a_sharp_square_where_it_belongs(page):
    view(page, f"goTo({MARK[0]}, {MARK[1]}, 16)")
    white = (screen(page) == 255).all(axis=2)
    area = box(page)
    corner = view(page, f"toScreen({MARK[0] - 0.5}, {MARK[1] - 0.5})")
    left, top = round(area["x"] + corner["x"]), round(area["y"] + corner["y"])
    middle = slice(top + 2, top + 14), slice(left + 2, left + 14)
    assert white[middle].all()
    rows, cols = np.nonzero(white[top - 20 : top + 36, left - 20 : left + 36])
    # 16 pixels of the screen each way, at most one more where an edge falls between two of them; no soft rim
    assert 16 <= np.ptp(rows) + 1 <= 17
    assert 16 <= np.ptp(cols) + 1 <= 17
    assert abs(rows.min() - 20) <= 1
    assert abs(cols.min() - 20) <= 1


@pytest.mark.parametrize("density", [1.5, 2])
def test_one_to_one_is_one_pixel_of_a_dense_screen(chromium, serves, density):
    page = chromium.new_page(viewport={"width": 900, "height": 900}, device_scale_factor=density)
    page.goto(f"http://127.0.0.1:{serves.server_port}/")
    page.wait_for_function("() => window.app")
    view(page, f"goTo({MARK[0]}, {MARK[1]}, {1 / density})")
    middle = np.rint(np.array(within(page, 0.5, 0.5)) * density).astype(int)
    near = screen(page)[middle[1] - 9 : middle[1] + 9, middle[0] - 9 : middle[0] + 9]
    assert (near == 255).all(axis=2).sum() == 1
    page.close()


def test_one_to_one_is_one_pixel_each_by_key_and_button(page):
    page.locator(".stage").focus()
    for key, scale in [("1", 1), ("2", 2), ("+", 3), ("-", 2)]:
        page.keyboard.press(key)
        settle(page)
        assert view(page, "scale()") == pytest.approx(scale)
    page.get_by_role("button", name="1:1").click()
    settle(page)
    assert view(page, "scale()") == pytest.approx(1)
    assert "100 %" in page.locator(".viewer-line").inner_text()
    page.keyboard.press("Tab")
    page.locator(".stage").focus()
    page.keyboard.press("0")
    settle(page)
    area = box(page)
    assert view(page, "scale()") == pytest.approx(
        min(area["width"] / WIDTH, area["height"] / HEIGHT), rel=1e-3
    )


def test_arrow_keys_move_the_view(page):
    view(page, "zoom(1)")
    settle(page)
    x, y = within(page, 0.5, 0.5)
    page.locator(".stage").focus()
    before = view(page, f"toImage({x}, {y})")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    settle(page)
    after, area = view(page, f"toImage({x}, {y})"), box(page)
    assert after["col"] - before["col"] == pytest.approx(0.1 * area["width"], abs=1)
    assert after["row"] - before["row"] == pytest.approx(0.5 * area["height"], abs=1)


def test_the_slider_divides_two_layers_by_mouse_and_keys(page):
    chooser(page, "Compare with").select_option("frame-1")
    divider = page.get_by_role("slider", name="Where the compared picture begins")
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


def test_another_job_of_the_stack_is_compared(page, server):
    chooser(page, "Compare with").select_option(label="job b")
    settle(page)
    assert page.locator(".caption.right").inner_text() == "job b: Result"
    assert view(page, "panes.main.slots.compared.source.key").startswith("/api/jobs/b/tiles/fused")
    page.evaluate("() => { const state = app.state.get(); state.jobs = [state.jobs[0]]; app.changed(); }")
    settle(page)  # the other job was deleted
    assert chooser(page, "Compare with").input_value() == ""
    assert not page.locator(".divider").is_visible()


def test_side_by_side_shows_the_same_place_twice(page):
    chooser(page, "Compare with").select_option("frame-2")
    chooser(page, "As").select_option("beside")
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


def test_a_map_lies_over_the_picture_with_the_strength_chosen(page):
    x, y = within(page, 0.4, 0.4)
    chooser(page, "Map over it").select_option("labels")
    for strength in (50, 100):
        page.get_by_label("Strength").fill(str(strength))
        blue = screen(page)[y, x, 2]
        assert blue == pytest.approx(BLUE["labels"] * strength / 100, abs=3)
    chooser(page, "Map over it").select_option("")
    assert screen(page)[y, x, 2] == BLUE["fused"]


def test_another_layer_keeps_the_view(page):
    view(page, "goTo(500, 700, 1)")
    settle(page)
    x, y = within(page, 0.5, 0.5)
    before = seen(page, x, y)
    chooser(page, "Show").select_option("frame-0")
    assert seen(page, x, y) == (*before[:2], "frame-0")


def test_a_fitted_picture_stays_fitted_and_a_hidden_viewer_keeps_its_view(page):
    page.evaluate("document.getElementById('viewer').hidden = true")
    page.set_viewport_size({"width": 800, "height": 900})
    page.evaluate("document.getElementById('viewer').hidden = false")
    settle(page)
    assert view(page, "scale()") == pytest.approx(box(page)["width"] / WIDTH, rel=1e-3)
    view(page, "goTo(500, 700, 1)")
    settle(page)
    page.evaluate("document.getElementById('viewer').hidden = true")
    page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    page.evaluate("document.getElementById('viewer').hidden = false")
    x, y = within(page, 0.5, 0.5)
    row, col, _ = seen(page, x, y)
    assert (row, col) == pytest.approx((500, 700), abs=2 * COL_STEP)


def test_a_changed_layer_is_fetched_anew(page, server):
    view(page, "refresh('retouched', 7)")
    view(page, "show(app.viewer.job(), 'retouched')")
    settle(page)
    view(page, "refresh('retouched', 8)")
    settle(page)
    versions = [version for layer, _, version in server.asked if layer == "retouched"]
    assert set(versions) == {"7", "8"}
    assert seen(page, *within(page, 0.5, 0.6))[2] == "retouched"


def test_strokes_of_another_tab_are_followed(page, server):
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


RECORDING_TOOL = """() => {
    window.heard = [];
    const keep = (kind) => (place, event, down) => heard.push([kind, place.row, place.col, down ?? null]);
    const onKey = (event, place) => heard.push(["key", place.row, place.col, event.key]) && event.key === " ";
    const [onDown, onMove, onUp] = ["down", "move", "up"].map(keep);
    app.viewer.setTool({ name: "try", onDown, onMove, onUp, onKey });
}"""


def test_a_tool_gets_drags_and_keys_while_the_wheel_still_zooms(page):
    view(page, "zoom(1)")
    settle(page)
    page.evaluate(RECORDING_TOOL)
    x, y = within(page, 0.4, 0.4)
    begin, end = view(page, f"toImage({x}, {y})"), view(page, f"toImage({x + 80}, {y + 40})")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 80, y + 40, steps=5)
    page.mouse.up()
    heard = page.evaluate("heard")
    assert [kind for kind, *_ in heard if kind != "move"] == ["down", "up"]
    down, up = heard[[kind for kind, *_ in heard].index("down")], heard[-1]
    assert down[1:3] == pytest.approx([begin["row"], begin["col"]])
    assert up[1:3] == pytest.approx([end["row"], end["col"]])
    assert {move[3] for move in heard if move[0] == "move"} == {True, False}
    assert view(page, f"toImage({x}, {y})") == pytest.approx(begin)  # the view has not moved
    assert page.locator(".crops li").count() == 0  # and no place was chosen
    page.mouse.wheel(0, -200)
    settle(page)
    page.wait_for_function("() => app.viewer.scale() > 1.05")
    page.keyboard.press("Space")
    assert page.evaluate("heard.at(-1)")[3] == " "
    view(page, "setTool(null)")
    settle(page)
    before = view(page, f"toImage({x}, {y})")
    page.mouse.down()
    page.mouse.move(x - 50, y, steps=3)
    page.mouse.up()
    settle(page)
    assert view(page, f"toImage({x}, {y})")["col"] > before["col"] + 20


def test_a_second_finger_ends_the_stroke_and_zooms(page):
    view(page, "zoom(1)")
    settle(page)
    page.evaluate(RECORDING_TOOL)
    touch = page.context.new_cdp_session(page)
    (x, y), apart = within(page, 0.5, 0.5), 40

    def fingers(kind: str, *points: tuple[int, int]) -> None:
        described = [{"x": px, "y": py, "id": number} for number, (px, py) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": described})

    fingers("touchStart", (x - apart, y))
    fingers("touchMove", (x - apart, y + 5))
    fingers("touchStart", (x - apart, y + 5), (x + apart, y))
    assert [kind for kind, *_ in page.evaluate("heard") if kind != "move"] == ["down", "up"]
    strokes = len(page.evaluate("heard"))
    for wider in range(10, 90, 20):
        fingers("touchMove", (x - apart - wider, y + 5), (x + apart + wider, y))
    fingers("touchEnd")
    settle(page)
    assert view(page, "scale()") > 1.3
    assert len(page.evaluate("heard")) == strokes


def test_of_a_hundred_frames_only_the_cuts_in_sight_are_fetched(page, server):
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
    chooser(page, "Frames").select_option("weight")
    assert (
        page.locator(".crops .chosen").evaluate("(item) => [...item.parentElement.children].indexOf(item)")
        == 1
    )
    chooser(page, "Frames").select_option("order")


def test_without_a_mouse_a_place_is_found_and_looked_at(page):
    page.locator(".stage").focus()
    for key in ["c", "ArrowRight", "Shift+ArrowDown", "Enter"]:
        page.keyboard.press(key)
    step = round(1 / view(page, "scale()"))
    big = round(20 / view(page, "scale()"))
    row, col = HEIGHT // 2 + big, WIDTH // 2 + step
    facts = page.locator("#inspect dl")
    facts.wait_for()
    assert f"row {row}, column {col}" in page.locator("#inspect dd").first.inner_text()
    assert "Frame 2: middle.tif" in facts.inner_text()
    page.wait_for_function("() => app.said?.startsWith('Place: row')")
    assert page.get_by_role("button", name="Cursor").get_attribute("aria-pressed") == "true"


def test_a_click_shows_the_place_in_all_frames_and_a_cut_leads_there(page):
    x, y = within(page, 0.6, 0.3)
    chosen = view(page, f"toImage({x}, {y})")
    page.mouse.click(x, y)
    cuts = page.locator(".crops li")
    cuts.first.wait_for()
    names = ["Result", "Frame 1: near.tif", "Frame 2: middle.tif", "Frame 3: far.tif"]
    assert [button.text_content() for button in cuts.get_by_role("button").all()] == names
    chooser(page, "Frames").select_option("weight")
    assert cuts.nth(1).get_by_role("button").text_content() == names[2]
    assert cuts.nth(1).locator("meter").first.evaluate("meter => meter.value") == 0.75
    assert cuts.nth(1).get_attribute("class") == "chosen"
    cuts.nth(3).get_by_role("button").click()
    row, col, layer = seen(page, *within(page, 0.5, 0.5))
    assert layer == "frame-2"
    assert (row, col) == pytest.approx((chosen["row"], chosen["col"]), abs=2 * COL_STEP)


def test_the_relief_is_drawn_and_turned_by_keys_and_mouse(page):
    canvas = page.locator("#relief canvas")
    page.locator("#relief").scroll_into_view_if_needed()
    canvas.wait_for()
    canvas.focus()

    def shot() -> np.ndarray:
        picture = Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")
        return np.asarray(picture).astype(int)[8:-8, 8:-8]

    def drawn() -> np.ndarray:
        """Wait until the picture stands still: it is drawn in its own time."""
        page.wait_for_timeout(150)
        before, now = shot(), shot()
        while (before != now).any() or (now == now[5, 5]).all():
            before, now = now, shot()
        return now

    start = drawn()
    assert (start != start[5, 5]).any(axis=2).mean() > 0.05  # the surface is there
    page.keyboard.press("ArrowLeft")
    turned = drawn()
    assert (turned != start).any(axis=2).mean() > 0.01
    page.keyboard.press("ArrowRight")
    assert (drawn() != start).any(axis=2).mean() < 0.001
    page.get_by_label("Height").fill("100")
    assert (drawn() != start).any(axis=2).mean() > 0.01
    page.get_by_role("button", name="Reset").click()
    assert (drawn() != start).any(axis=2).mean() < 0.001
    area = canvas.bounding_box()
    page.mouse.move(area["x"] + 300, area["y"] + 100)
    page.mouse.down()
    page.mouse.move(area["x"] + 400, area["y"] + 100, steps=3)
    page.mouse.up()
    assert (drawn() != start).any(axis=2).mean() > 0.01


def test_without_webgl_the_relief_says_so(chromium, serves):
    blind = chromium.new_page(viewport={"width": 1280, "height": 1000})
    worker = files("panfocus").joinpath("app", "static", "js", "relief", "worker.js").read_text()
    without = "OffscreenCanvas.prototype.getContext = () => null;" + worker
    blind.route(
        "**/relief/worker.js", lambda route: route.fulfill(body=without, content_type="text/javascript")
    )
    blind.goto(f"http://127.0.0.1:{serves.server_port}/")
    blind.wait_for_function("() => window.app")
    blind.locator("#relief").scroll_into_view_if_needed()
    blind.get_by_text("The relief needs WebGL 2").wait_for(timeout=10_000)
    blind.close()


def test_nothing_serious_is_found_by_axe(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.mouse.click(*within(page, 0.5, 0.6))
    page.locator(".crops li").first.wait_for()
    view(page, "compare('frame-1', 0.5)")
    found = axe.Axe().run(page).response["violations"]
    assert [
        (fault["id"], fault["impact"]) for fault in found if fault["impact"] in ("serious", "critical")
    ] == []
