"""The tools of the page in a real browser with a real server: retouch, export, learn."""

import io
import json
import re
import shlex
import sys
import tomllib

import numpy as np
import pytest
import small_stacks
from app_server import running_server, wait
from PIL import Image
from scipy.ndimage import gaussian_filter

from panfocus.cli import main

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

HEIGHT, WIDTH, N = 90, 120, 3
# So that what is composed are the values of the files themselves.
PLAIN = {"method": "pca", "align": "off", "exposure": "off", "hot_pixels": "off"}
LOADED = "() => window.panfocus?.viewer?.job() && panfocus.viewer.panes.main.loaded"


@pytest.fixture(scope="module")
def frames():
    """Frames, each sharp in a band of its own; the third has red for blue: its paint is well seen."""
    made = small_stacks.frames(N, (HEIGHT, WIDTH))
    made[2] = made[2, ..., ::-1].copy()
    return made


@pytest.fixture(scope="module")
def serves(tmp_path_factory, frames):
    place = tmp_path_factory.mktemp("tools")
    folder = place / "pictures" / "beetle"
    folder.mkdir(parents=True)
    for k, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"frame-{k + 1}.png")
    with running_server(place / "work", place / "pictures", "--port", "0") as running:
        yield running


@pytest.fixture(scope="module")
def job(serves):
    stack = serves.client.post("/api/stacks", json={"folder": str(serves.root / "beetle")}).json()
    made = serves.client.post("/api/jobs", json={"stack": stack["id"], "options": PLAIN}).json()
    for _ in wait(60):
        (now,) = (each for each in serves.state()["jobs"] if each["id"] == made["id"])
        if now["state"] not in ("queued", "running"):
            break
    assert now["state"] == "done", now
    return now


@pytest.fixture
def context(chromium):
    """A browser's window; what its pages complain of in the console fails the test."""
    opened = chromium.new_context(
        viewport={"width": 1280, "height": 800}, reduced_motion="reduce", accept_downloads=True
    )
    opened.complaints = []
    opened.on("weberror", lambda error: opened.complaints.append(str(error.error)))
    opened.on("console", lambda said: said.type == "error" and opened.complaints.append(said.text))
    yield opened
    opened.close()
    assert opened.complaints == []


@pytest.fixture
def page(context, serves, job):
    """Open the job, without strokes."""
    path = f"/api/jobs/{job['id']}/retouch"
    assert serves.client.put(path, json=serves.client.get(path).json() | {"strokes": []}).status_code == 200
    opened = context.new_page()
    opened.goto(serves.address)
    return show(opened, serves, job)


def show(page, serves, job):
    page.goto(f"{serves.url}/#stack={job['stack']}&job={job['id']}")
    page.reload()
    page.wait_for_function(LOADED)
    return page


def open_tool(page, name):
    page.get_by_role("tab", name=name).click()
    if name == "Retouch":
        page.wait_for_function("() => panfocus.viewer.tool?.name === 'retouch'")


def point(page, row, col):
    """Return the point of the window where the centre of a pixel is seen."""
    area = page.locator(".pane.main").bounding_box()
    at = page.evaluate(f"() => panfocus.viewer.toScreen({row}, {col})")
    return area["x"] + at["x"], area["y"] + at["y"]


def drag(page, *places, release=True):
    page.mouse.move(*point(page, *places[0]))
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*point(page, *place), steps=4)
    if release:
        page.mouse.up()


def set_brush(page, **properties):
    page.evaluate("(given) => panfocus.viewer.tool.set(given)", properties)


def wait_saved(page, n):
    expect(page.locator("#panel-retouch summary").first).to_have_text(f"Strokes ({n})")
    expect(page.locator("#panel-retouch")).not_to_contain_text("Saving")
    page.wait_for_function(LOADED)


def strokes(serves, job):
    return serves.client.get(f"/api/jobs/{job['id']}/retouch").json()["strokes"]


def exported(serves, job):
    """Return the picture, all values of it."""
    answer = serves.client.post(f"/api/jobs/{job['id']}/export", json={"format": "png", "what": ["image"]})
    assert answer.status_code == 200, answer.text
    (file,) = (file for file in answer.json()["files"] if file["name"].endswith(".png"))
    return np.asarray(Image.open(io.BytesIO(serves.client.get(file["url"]).content)))


def seen(page, rows, cols):
    """Return a part of the picture as it is on the screen; blurred, as the noise of JPEGs differs."""
    (left, top), (right, bottom) = (point(page, row, col) for row, col in zip(rows, cols, strict=True))
    part = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=part))).convert("RGB")).astype(float)
    return gaussian_filter(shot, (12, 12, 0))[6::12, 6::12]


def test_a_hard_stroke_has_the_frames_own_pixels_and_is_taken_back(page, serves, job, frames):
    before = exported(serves, job)
    open_tool(page, "Retouch")
    page.get_by_role("radio", name="Frame 3: frame-3.png").check()
    set_brush(page, size=21, hardness=1)
    drag(page, (30, 20), (30, 50))
    wait_saved(page, 1)
    (stroke,) = strokes(serves, job)
    assert stroke["frame"] == 2
    assert np.array(stroke["points"])[[0, -1]] == pytest.approx(np.array([[30, 20], [30, 50]]), abs=0.2)
    rows, cols = np.mgrid[:HEIGHT, :WIDTH]
    distance = np.hypot(rows - 30, cols - np.clip(cols, 20, 50))
    after = exported(serves, job)
    inside, outside = distance < 10, distance > 11
    np.testing.assert_array_equal(after[inside], frames[2][inside])
    np.testing.assert_array_equal(after[outside], before[outside])
    assert (before[inside] != frames[2][inside]).any()
    expect(page.locator(".caption").first).to_have_text("Result, retouched")
    page.keyboard.press("Control+z")
    wait_saved(page, 0)
    np.testing.assert_array_equal(exported(serves, job), before)
    page.keyboard.press("Control+Shift+z")
    wait_saved(page, 1)
    assert strokes(serves, job) == [stroke]
    np.testing.assert_array_equal(exported(serves, job), after)


@pytest.mark.parametrize(("hardness", "opacity"), [(1, 1), (0.2, 0.6)])
def test_while_a_stroke_is_drawn_it_looks_as_it_will(page, hardness, opacity):
    open_tool(page, "Retouch")
    part = (26, 64), (2, 78)  # what the brush reaches
    set_brush(page, frame=2, size=31, hardness=hardness, opacity=opacity)
    page.mouse.move(*point(page, 45, 60))
    empty = seen(page, *part)
    drag(page, (45, 20), (45, 60), release=False)
    page.wait_for_timeout(300)
    drawn = seen(page, *part)
    page.mouse.up()
    wait_saved(page, 1)
    page.wait_for_timeout(300)
    painted = seen(page, *part)
    shown, wanted = drawn - empty, painted - empty
    assert np.abs(wanted).mean() > 2
    assert (shown * wanted).sum() / (wanted**2).sum() == pytest.approx(1, abs=0.05)
    assert np.abs(shown - wanted).mean() < 0.25 * np.abs(wanted).mean()


def test_without_a_mouse_strokes_are_painted_and_frames_chosen(page, serves, job):
    open_tool(page, "Retouch")
    page.locator(".stage").focus()
    size = page.evaluate("() => panfocus.viewer.tool.size")
    for key in ["c", "Space", ".", "]", "]", "Shift+BracketRight", *["Shift+ArrowRight"] * 3, "Shift+Space"]:
        page.keyboard.press(key)
    wait_saved(page, 2)
    dab, line = strokes(serves, job)
    assert (dab["frame"], line["frame"]) == (0, 1)
    assert len(dab["points"]) == 1
    assert line["points"][0] == dab["points"][0]
    assert line["points"][1][0] == dab["points"][0][0]
    assert line["points"][1][1] > dab["points"][0][1] + 5
    assert line["radius"] == pytest.approx(size / 2 * 1.15**2)
    assert line["hardness"] == pytest.approx(dab["hardness"] + 0.1)
    # Each frame is sharp in a band of its own.
    for _ in range(30):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("B")  # as with Caps Lock
    expect(page.get_by_role("radio", name="Frame 3: frame-3.png")).to_be_checked()


def test_a_frame_is_picked_by_a_click_and_shown_beside(page, serves, job):
    open_tool(page, "Retouch")
    beside = page.get_by_label("Show the frame beside the result")
    beside.check()
    page.wait_for_function(LOADED)
    page.get_by_role("button", name="Pick the sharpest by a click").click()
    page.mouse.click(*point(page, 45, 60))  # where frame 2 is sharp
    expect(page.get_by_role("radio", name="Frame 2: frame-2.png")).to_be_checked()
    expect(page.locator(".pane.beside .caption")).to_have_text("Frame 2: frame-2.png")
    assert strokes(serves, job) == []  # that click paints nothing
    page.get_by_role("combobox", name="Compare with").select_option("")
    expect(beside).not_to_be_checked()
    page.get_by_role("button", name="Brush").click()  # off: a drag moves the picture
    page.evaluate("() => panfocus.viewer.zoom(8)")
    page.wait_for_function(LOADED)
    before = point(page, 45, 60)
    drag(page, (45, 60), (45, 50))
    assert point(page, 45, 60)[0] < before[0] - 20
    assert strokes(serves, job) == []


def test_strokes_are_there_after_a_reload_and_in_another_tab(page, context, serves, job):
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    other = show(context.new_page(), serves, job)
    open_tool(other, "Retouch")
    wait_saved(other, 1)
    page.bring_to_front()
    page.get_by_label("Match the brightness").check()
    drag(page, (60, 20), (60, 30))
    wait_saved(page, 2)
    wait_saved(other, 2)
    assert [stroke["gain"] is None for stroke in strokes(serves, job)] == [True, False]
    other.close()
    page.reload()
    page.wait_for_function(LOADED)
    open_tool(page, "Retouch")
    wait_saved(page, 2)
    page.get_by_role("button", name="Undo").click()
    wait_saved(page, 1)
    page.locator("#panel-retouch summary").first.click()
    page.get_by_role("button", name="Delete stroke 1").click()
    wait_saved(page, 0)
    page.get_by_role("button", name="Undo").click()
    wait_saved(page, 1)
    page.get_by_role("button", name="Redo").click()
    wait_saved(page, 0)


def test_strokes_go_to_a_file_and_come_from_one(page, serves, job, tmp_path):
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    drag(page, (60, 20), (50, 30))
    wait_saved(page, 2)
    page.locator("#panel-retouch summary").first.click()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save strokes").click()
    saving.value.save_as(tmp_path / "kept.json")
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept == serves.client.get(f"/api/jobs/{job['id']}/retouch").json()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete all").click()
    wait_saved(page, 0)
    (tmp_path / "kept.json").write_text(json.dumps(kept | {"strokes": kept["strokes"][:1]}))
    page.get_by_label("File of strokes").set_input_files(tmp_path / "kept.json")
    wait_saved(page, 1)
    page.get_by_role("button", name="Undo").click()
    wait_saved(page, 0)


def test_strokes_for_another_picture_are_refused_in_one_line(page, context, serves, job, tmp_path):
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    other = serves.client.get(f"/api/jobs/{job['id']}/retouch").json() | {"width": WIDTH + 1, "strokes": []}
    (tmp_path / "other.json").write_text(json.dumps(other))
    page.get_by_label("File of strokes").set_input_files(tmp_path / "other.json")
    expect(page.locator(".notice")).to_contain_text("other.json: the strokes were made for a picture of")
    assert len(strokes(serves, job)) == 1
    assert len(context.complaints) == 1  # the browser's own line about an answer of 400
    context.complaints.clear()


def test_one_click_saves_and_the_command_writes_the_same_bytes(page, tmp_path, monkeypatch):
    open_tool(page, "Export")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save picture").click()
    assert saving.value.suggested_filename == "beetle-fused.png"
    page.get_by_label("Format").select_option("tif")
    page.get_by_label("Report of the fusion").check()
    with (
        page.expect_event("download", lambda saved: saved.suggested_filename.endswith(".json")),
        page.expect_event("download", lambda saved: saved.suggested_filename.endswith(".tif")) as saving,
    ):
        page.get_by_role("button", name="Save 2 files").click()
    saving.value.save_as(tmp_path / "saved.tif")
    expect(page.locator(".files a")).to_have_text(["beetle-fused.tif", "beetle-fused-report.json"])
    command = shlex.split(page.locator("#panel-export code").inner_text())
    assert command[:2] == ["panfocus", "fuse"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert not exit_.value.code
    assert (tmp_path / "beetle-fused.tif").read_bytes() == (tmp_path / "saved.tif").read_bytes()


def test_a_dictionary_is_learned_from_rectangles_and_used(page, serves):
    open_tool(page, "Learn")
    expect(page.get_by_role("button", name="Learn a dictionary")).to_be_disabled()
    drag(page, (10, 5), (70, 34))
    rectangles = page.locator(".regions fieldset")
    expect(rectangles).to_have_count(1)
    expect(page.get_by_label("Focused in")).to_have_value("0")  # each frame is sharp in a band of its own
    page.get_by_role("button", name="Add by numbers").click()
    expect(rectangles).to_have_count(2)
    second = rectangles.nth(1)
    for name, value in {"Top": 12, "Left": 84, "Height": 60, "Width": 30}.items():
        second.get_by_label(name).fill(str(value))
        second.get_by_label(name).press("Tab")
    second.get_by_label("Focused in").select_option("2")
    second.get_by_label("Blurred in").select_option("0")
    page.reload()  # in the middle of it
    page.wait_for_function(LOADED)
    open_tool(page, "Learn")
    expect(rectangles).to_have_count(2)
    page.get_by_label("Name", exact=True).fill("bands")
    page.get_by_text("Settings of learning").click()
    for name, value in {"Patch size": 4, "Atoms": 16, "Rounds": 3, "Samples": 400}.items():
        page.locator("#panel-learn form").get_by_label(name, exact=True).fill(str(value))
        page.locator("#panel-learn form").get_by_label(name, exact=True).press("Tab")
    page.get_by_role("button", name="Learn a dictionary").click()
    expect(page.locator("#panel-learn [role=status]")).to_have_text("Learned.", timeout=60_000)
    expect(page.locator(".plot circle")).to_have_count(3)
    expect(page.locator("#panel-learn")).to_contain_text("Round 3 of 3")
    page.wait_for_function("() => document.querySelector('.atoms').naturalWidth > 0")
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save the rectangles").click()
    kept = tomllib.loads(saving.value.path().read_text())["region"]
    assert [kept[1][name] for name in ("top", "left", "height", "width")] == [12, 84, 60, 30]
    assert [re.sub(r"\D", "", kept[1][name]) for name in ("focused", "blurred")] == ["2", "0"]
    for name in {region[level] for region in kept for level in ("focused", "blurred")}:
        with page.expect_download() as saving:
            page.get_by_role("link", name=f"Save {name}").click()
        assert np.asarray(Image.open(saving.value.path())).shape == (HEIGHT, WIDTH, 3)
    page.locator("#panel-learn").get_by_text("Command line").click()
    expect(page.locator("#panel-learn .command")).to_contain_text("panfocus learn --regions")
    corner = kept[0]["top"], kept[0]["left"]
    assert corner == pytest.approx((10, 5), abs=1)
    page.get_by_role("button", name="Use it").click()
    expect(page.get_by_label("Method")).to_have_value("coupled")
    assert page.get_by_label("Dictionary").evaluate("select => select.selectedOptions[0].text") == "bands"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_nothing_serious_is_found_by_axe_and_all_fits(page, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.emulate_media(color_scheme=scheme)
    open_tool(page, "Learn")
    drag(page, (10, 5), (70, 34))
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    page.set_viewport_size({"width": width, "height": 800})
    for tool in ("Retouch", "Export", "Learn"):
        page.get_by_role("tab", name=tool).click()
        found = axe.Axe().run(page).response["violations"]
        faults = [
            (fault["id"], [node["html"][:120] for node in fault["nodes"]])
            for fault in found
            if fault["impact"] in ("serious", "critical")
        ]
        assert faults == [], tool
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
