"""The tools Export and Learn, and the accessibility of all tools."""

import re
import shlex
import sys
import tomllib

import numpy as np
import pytest
from page_steps import wait_until, wait_until_drawn
from PIL import Image
from tool_screen import HEIGHT, LOADED, WIDTH, drag, open_tool, point, wait_saved

from browser import JOB_TIMEOUT
from panfocus.cli import main

playwright = pytest.importorskip("playwright.sync_api")

expect = playwright.expect


def test_export_saves_the_bytes_of_the_command(page, tmp_path, monkeypatch):
    open_tool(page, "Export")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save picture").click()
    assert saving.value.suggested_filename == "scarab-fused.png"
    page.get_by_label("Format").select_option("tif")
    page.get_by_label("Report").check()
    with (
        page.expect_event("download", lambda saved: saved.suggested_filename.endswith(".json")),
        page.expect_event("download", lambda saved: saved.suggested_filename.endswith(".tif")) as saving,
    ):
        page.get_by_role("button", name="Save 2 files").click()
    saving.value.save_as(tmp_path / "saved.tif")
    expect(page.locator(".files a")).to_have_text(["scarab-fused.tif", "scarab-fused-report.json"])
    command = shlex.split(page.locator("#panel-export code").inner_text())
    assert command[:2] == ["panfocus", "fuse"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert not exit_.value.code
    assert (tmp_path / "scarab-fused.tif").read_bytes() == (tmp_path / "saved.tif").read_bytes()


def test_export_warns_about_changed_frames(page, job):
    claim = page.locator(".exported p.help")

    def answer(route, changed):
        told = route.fetch()
        route.fulfill(response=told, json=told.json() | {"changed": changed})

    open_tool(page, "Export")
    page.get_by_role("button", name="Save picture").click()
    expect(claim).to_be_visible()
    names = [f"{number}.png" for number in range(5)]
    page.route("**/export", lambda route: answer(route, names), times=1)
    page.get_by_role("button", name="Save picture").click()
    expect(page.locator(".exported p.warnings")).to_contain_text("0.png, 1.png, 2.png and 2 more")
    expect(claim).to_have_count(0)


def test_invalid_quality_is_ignored_for_lossless_formats(page):
    open_tool(page, "Export")
    page.get_by_label("Format").select_option("jpg")
    quality = page.get_by_label("Quality")
    quality.fill("500")
    page.get_by_role("button", name="Save picture").click()
    expect(quality).to_be_focused()  # where it counts, it is refused
    page.get_by_label("Format").select_option("png")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save picture").click()
    assert saving.value.suggested_filename == "scarab-fused.png"


def test_invalid_setting_is_unfolded(page):
    open_tool(page, "Learn")
    drag(page, (10, 5), (70, 34))
    page.get_by_text("Learning settings").click()
    rounds = page.locator("#panel-learn form").get_by_label("Rounds", exact=True)
    rounds.fill("0")
    page.get_by_text("Learning settings").click()
    expect(rounds).to_be_hidden()
    page.get_by_role("button", name="Learn a dictionary").click()
    expect(rounds).to_be_focused()


def test_late_proposal_of_frames_does_not_overwrite_input(page):
    held = []
    page.route("**/place?*", lambda route: held.extend([route]))
    open_tool(page, "Learn")
    sharp_in_1, sharp_in_3 = ((10, 5), (70, 34)), ((10, 85), (70, 114))
    for n, place in enumerate([sharp_in_1, sharp_in_3], start=1):
        page.wait_for_function(LOADED)
        drag(page, *place)
        expect(page.locator(".regions fieldset")).to_have_count(n)
        wait_until(page, lambda n=n: len(held) >= n)
    focused = page.get_by_label("Focused in")
    focused.first.select_option("1")
    top = page.get_by_label("Top").first
    top.press("Control+a")
    page.keyboard.type("2")
    for request in held:
        with page.expect_response("**/place?*"):
            request.continue_()
    expect(focused.nth(1)).to_have_value("2")
    expect(focused.first).to_have_value("1")
    expect(top).to_be_focused()
    page.keyboard.type("5")
    expect(top).to_have_value("25")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Left").first).to_be_focused()
    page.get_by_role("button", name="Delete rectangle 1").press("Enter")
    expect(page.locator(".regions legend")).to_have_text(["Rectangle 1"])
    expect(focused).to_have_value("2")
    expect(top).to_be_focused()  # of the one that is left
    page.get_by_role("button", name="Delete rectangle 1").press("Enter")
    expect(page.locator(".regions fieldset")).to_have_count(0)
    expect(page.get_by_role("button", name="Add by numbers")).to_be_focused()


def test_dictionary_is_learned_used_saved_and_deleted(page, page_server):
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
    page.get_by_text("Learning settings").click()
    for name, value in {"Patch size": 4, "Atoms": 16, "Rounds": 3, "Samples": 400}.items():
        page.locator("#panel-learn form").get_by_label(name, exact=True).fill(str(value))
        page.locator("#panel-learn form").get_by_label(name, exact=True).press("Tab")
    page.get_by_role("button", name="Learn a dictionary").click()
    expect(page.locator("#panel-learn [role=status]")).to_have_text("Learned.", timeout=JOB_TIMEOUT)
    expect(page.locator(".plot circle")).to_have_count(3)
    expect(page.locator("#panel-learn")).to_contain_text("Round 3 of 3")
    page.wait_for_function("() => document.querySelector('.atoms').naturalWidth > 0")
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save rectangles").click()
    kept = tomllib.loads(saving.value.path().read_text())["region"]
    assert [kept[1][name] for name in ("top", "left", "height", "width")] == [12, 84, 60, 30]
    assert [re.sub(r"\D", "", kept[1][name]) for name in ("focused", "blurred")] == ["2", "0"]
    for name in {region[level] for region in kept for level in ("focused", "blurred")}:
        with page.expect_download() as saving:
            page.get_by_role("link", name=f"Save {name}").click()
        assert np.asarray(Image.open(saving.value.path())).shape == (HEIGHT, WIDTH, 3)
    page.locator("#panel-learn summary", has_text="Command line").click()
    expect(page.locator("#panel-learn .command")).to_contain_text("panfocus learn --regions")
    corner = kept[0]["top"], kept[0]["left"]
    assert corner == pytest.approx((10, 5), abs=1)
    with page.expect_response("**/estimate"):  # with the dictionary, before it is deleted
        page.get_by_role("button", name="Use dictionary").click()
    expect(page.get_by_label("Method")).to_have_value("coupled")
    chosen = page.get_by_label("Dictionary", exact=True).locator("option:checked")
    expect(chosen).to_have_text("bands")
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save dictionary bands").click()
    assert saving.value.suggested_filename == "bands.npz"
    page.once("dialog", lambda dialog: dialog.accept())
    delete = page.get_by_role("button", name="Delete dictionary bands")
    delete.press("Enter")
    expect(delete).to_have_count(0)  # others may have been learned by other tests
    assert page.evaluate("document.activeElement !== document.body")
    expect(page.get_by_role("button", name="Use dictionary")).to_be_hidden()
    expect(chosen).to_have_text("default")
    expect(page.locator("#estimate")).to_contain_text("memory")  # nobody asks for what is gone
    assert "bands" not in page_server.state()["dictionaries"]


def test_failed_or_cancelled_training_is_run_again(page, page_server, job):
    region = {"focused": 0, "blurred": 1, "top": 10, "left": 5, "height": 60, "width": 30}
    learn = {"stack": job["stack"], "job": job["id"], "name": "late", "regions": [region | {"height": 2}]}
    failing = page_server.client.post("/api/jobs", json={"learn": learn}).raise_for_status().json()
    open_tool(page, "Learn")
    said, again = (
        page.locator("#panel-learn .error[role=status]"),
        page.get_by_role("button", name="Run again"),
    )
    expect(said).to_contain_text("regions.toml")
    with page.expect_response("**/again") as answered:
        again.press("Enter")
    assert (answered.value.json()["id"], answered.value.json()["state"]) == (failing["id"], "queued")
    expect(said).to_contain_text("regions.toml")  # as before; and the picture is still shown
    expect(page.locator("#viewer")).to_be_visible()
    long = learn | {"regions": [region], "settings": {"rounds": 1000, "samples": 100_000}}
    page_server.client.post("/api/jobs", json={"learn": long}).raise_for_status()
    cancel = page.locator("#panel-learn").get_by_role("button", name="Cancel", exact=True)
    cancel.press("Enter")
    expect(again).to_be_focused()
    page.keyboard.press("Enter")
    expect(cancel).to_be_focused()
    page.keyboard.press("Enter")
    expect(again).to_be_focused()


def test_tools_are_accessible_and_fit_a_narrow_dark_window(page):
    """The test of all states in test_workflow.py does this in a wide, light one."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page.emulate_media(color_scheme="dark")
    page.mouse.click(*point(page, 45, 60))
    expect(page.locator(".crops li")).to_have_count(4)
    open_tool(page, "Learn")
    drag(page, (10, 5), (70, 34))
    open_tool(page, "Retouch")
    drag(page, (30, 20), (40, 30))
    wait_saved(page, 1)
    for tool in ("Inspect", "Retouch", "Export", "Learn"):
        page.get_by_role("tab", name=tool).click()
        for width in (390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            wait_until_drawn(page)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        found = axe.run(page).response["violations"]
        faults = [
            (fault["id"], [node["html"][:120] for node in fault["nodes"]])
            for fault in found
            if fault["impact"] in ("serious", "critical")
        ]
        assert faults == [], tool
