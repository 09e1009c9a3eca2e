"""Complete workflows, from dropped files to saved ones. Console errors and failed requests fail a test."""

import io
import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
import small_stacks
from app_server import wait
from page_steps import Visit, walk_states
from PIL import Image

from browser import JOB_TIMEOUT
from panfocus.io.read_stack import read_image

SIZE = (520, 620)  # more than a tile
LARGE = (900, 1100)  # many tiles: `coupled` takes long enough for its map to be seen growing


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    return small_stacks.write(tmp_path_factory.mktemp("frames"), n=3, size=SIZE)


@pytest.fixture
def expect(chromium):
    from playwright.sync_api import expect

    return expect


@pytest.fixture
def visit(chromium, page_server):
    begun = Visit(chromium, page_server.address)
    yield begun
    begun.close()
    assert begun.complaints == []


@pytest.fixture(scope="module")
def fused(page_server, frames):
    """The address of a finished fusion, and its job id."""
    return fused_before(page_server, frames, align="off")


@pytest.fixture(scope="module")
def large(page_server, tmp_path_factory):
    """The same for larger frames, by a fast method."""
    frames = small_stacks.write(tmp_path_factory.mktemp("large"), n=3, size=LARGE)
    return fused_before(page_server, frames, align="off", method="pca")


def fused_before(page_server, frames, **options):
    stack = page_server.client.post("/api/stacks", json={"name": "fused before"}).json()["id"]
    for path in frames:
        page_server.client.put(
            f"/api/stacks/{stack}/files/{path.name}", content=path.read_bytes()
        ).raise_for_status()
    page_server.seen(stack)
    job = page_server.client.post("/api/jobs", json={"stack": stack, "options": options}).json()["id"]
    assert job_of(page_server, job, "done")["state"] == "done"
    return f"{page_server.url}/#stack={stack}&job={job}", job


def job_of(page_server, job, *states):
    """Wait until a job is in one of these states, and return it."""
    for _ in wait(JOB_TIMEOUT / 1000):
        (found,) = (each for each in page_server.state()["jobs"] if each["id"] == job)
        if found["state"] in states:
            return found
    raise AssertionError(found)


def run(command, folder):
    """Run a command of the page in a folder."""
    program, *words = shlex.split(command)
    assert program == "panfocus"
    subprocess.run([sys.executable, "-m", "panfocus", *words], cwd=folder, check=True, capture_output=True)


def opened(visit, address, tool=None):
    visit.page.goto(address)
    visit.wait_for_result()
    if tool:
        visit.click("tab", tool)
    return visit.page


def picture(page_server, job, layer="retouched"):
    answer = page_server.client.get(
        f"/api/jobs/{job}/crop/{layer}", params={"row": 256, "col": 256, "size": 512}
    )
    return np.asarray(Image.open(io.BytesIO(answer.content)))


def test_picture_is_saved_in_five_actions_with_the_bytes_of_the_command(visit, frames, expect, tmp_path):
    visit.drop(frames)
    visit.click("button", "Fuse")
    visit.wait_for_result()
    visit.click("tab", "Export")
    (saved,) = visit.save(tmp_path)
    assert visit.actions <= 5
    assert read_image(saved).shape == (*SIZE, 3)
    command = visit.page.locator("#panel-export .command").inner_text()
    (tmp_path / "again").mkdir()
    run(command, tmp_path / "again")
    assert (tmp_path / "again" / saved.name).read_bytes() == saved.read_bytes()


def test_progress_continues_after_a_reload_and_in_two_tabs(visit, large, page_server, expect):
    page = opened(visit, large[0])
    visit.unfold("Settings")
    visit.choose("Method", "coupled")
    other = visit.new_tab(page.url)
    page.locator("#fuse").click()
    expect(page.locator(".results > li")).to_have_count(2)
    maps = page.locator(".live-map")
    expect(maps).to_have_attribute("src", re.compile("live.png"), timeout=JOB_TIMEOUT)
    job = page.url.partition("job=")[2]
    version = int(maps.get_attribute("src").partition("?v=")[2])
    first = decided(page_server, job)
    assert 0 < first < 1

    page.reload()  # in the middle
    assert page.url.endswith(job)
    expect(page.get_by_role("heading", name="Fusing")).to_be_visible()
    page.wait_for_function(
        "(version) => document.querySelector('.live-map').src.split('?v=')[1] > version",
        arg=version,
        timeout=JOB_TIMEOUT,
    )
    assert decided_while_running(page_server, job, more_than=first) > first

    expect(other.locator(".results > li")).to_have_count(2)
    for tab in (page, other):
        expect(tab.locator(".results > li").nth(1)).to_contain_text("done in", timeout=JOB_TIMEOUT)
    visit.wait_for_result()
    assert page.evaluate("panfocus.viewer.job().id") == job
    assert other.evaluate("panfocus.viewer.job().id") == large[1]  # what is looked at stays


def decided(page_server, job):
    """Return the share of the picture that the live map covers."""
    answer = page_server.client.get(f"/api/jobs/{job}/live.png").raise_for_status()
    return np.mean(np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGBA"))[..., 3] > 0)


def decided_while_running(page_server, job, more_than):
    """Wait until the live map covers more or the job ends, and return its share."""
    for _ in wait(JOB_TIMEOUT / 1000):
        state = job_of(page_server, job, "running", "done", "failed")["state"]
        share = decided(page_server, job)  # after the state: what is decided to the end counts
        if share > more_than or state != "running":
            return share
    return share


def test_picture_is_zoomed_compared_overlaid_and_inspected(visit, fused, expect):
    page = opened(visit, fused[0])
    visit.click("button", "2:1")
    visit.settle()
    expect(page.locator(".viewer-line")).to_contain_text("200 %")
    assert any("/tiles/fused/0/" in url for url in visit.responses)
    visit.choose("Compare with", "frame-1")
    visit.settle()
    assert any("/tiles/frame-1/0/" in url for url in visit.responses)
    divider = page.get_by_role("slider", name=re.compile("ompar|ivider"))
    before = float(divider.get_attribute("aria-valuenow"))
    divider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert float(divider.get_attribute("aria-valuenow")) > before
    box = page.locator(".divider").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 150, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert float(divider.get_attribute("aria-valuenow")) < before

    visit.choose("Overlay", "labels")
    visit.settle()
    assert any("/tiles/labels/" in url for url in visit.responses)
    visit.choose("Compare with", "")
    visit.click("button", "Fit")
    visit.settle()

    visit.inspect(260, 310)  # the middle band, sharp in the second frame
    panel = page.locator("#panel-inspect")
    expect(panel).to_contain_text("x 310, y 260")
    expect(panel.locator(".crops li")).to_have_count(4)
    expect(panel.locator(".crops .chosen")).to_contain_text("frame-2.png")
    for cut in panel.locator(".crops img").all():
        cut.scroll_into_view_if_needed()
        expect(cut).to_have_js_property("naturalWidth", 64)


def test_retouching_is_undone_redone_shared_and_exported(visit, fused, page_server, expect, tmp_path):
    address, job = fused
    other = visit.new_tab(address)
    page = opened(visit, address, "Retouch")
    page.get_by_role("radio").nth(0).check()
    page.get_by_role("slider", name="Hardness").press("End")
    visit.drag((150, 260), (300, 260))
    saved = page.locator("#panel-retouch").get_by_text("All strokes are saved")
    expect(saved).to_be_visible()
    painted = picture(page_server, job)
    below = picture(page_server, job, "fused")
    frame = picture(page_server, job, "frame-0")
    changed = (painted != below).any(axis=2)
    assert changed[200, 256] and not changed[400].any() and not changed[:, :150].any()
    assert (painted[changed] == frame[changed]).all()  # a hard brush: the frame's own pixels

    page.keyboard.press("Control+z")
    expect(page.locator("summary", has_text="Strokes (0)")).to_be_visible()
    for _ in wait(10):
        if (picture(page_server, job) == below).all():
            break
    assert (picture(page_server, job) == below).all()
    page.keyboard.press("Control+Shift+z")
    expect(saved).to_be_visible()
    for _ in wait(10):
        if (picture(page_server, job) == painted).all():
            break
    assert (picture(page_server, job) == painted).all()

    other.get_by_role("tab", name="Retouch").click()
    expect(other.locator("summary", has_text="Strokes (1)")).to_be_visible()

    visit.click("tab", "Export")
    page.get_by_label("Format").select_option("TIFF")
    page.get_by_label("Depth map", exact=True).check()
    page.get_by_role("checkbox", name="Source frames").check()
    files = {path.suffix: path for path in visit.save(tmp_path, n=4)}
    assert files.keys() == {".tif", ".png", ".json"}
    assert len(json.loads(files[".json"].read_text())["strokes"]) == 1
    command = page.locator("#panel-export .command").inner_text()
    assert f"--retouch {files['.json'].name}" in command


def test_every_state_of_the_page_is_accessible(chromium, page_server, frames):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    visit = Visit(chromium, page_server.address)
    found = {}
    for state in walk_states(visit, frames):
        before = len(visit.complaints)
        faults = axe.run(visit.page).response["violations"]
        del visit.complaints[before:]  # the page's policy refuses what axe itself would load
        found[state] = [
            (fault["id"], [node["target"] for node in fault["nodes"]])
            for fault in faults
            if fault["impact"] in ("serious", "critical")
        ]
    visit.close()
    assert {state: faults for state, faults in found.items() if faults} == {}
    assert len(found) == 13
    assert visit.complaints == []
