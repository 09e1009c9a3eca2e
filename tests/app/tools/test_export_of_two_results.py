"""Two results that are saved at the same time: each hears of its own files, and of its own faults."""

import re

import pytest
from app_server import wait
from tool_screen import open_tool

playwright = pytest.importorskip("playwright.sync_api")

expect = playwright.expect


@pytest.fixture(scope="module")
def other(serves, job):
    """Another result of the same stack."""
    wanted = {"stack": job["stack"], "options": {"method": "dwt", "align": "off"}}
    made = serves.client.post("/api/jobs", json=wanted).json()
    for _ in wait(60):
        (now,) = (each for each in serves.state()["jobs"] if each["id"] == made["id"])
        if now["state"] == "done":
            break
    yield now
    serves.client.delete(f"/api/jobs/{made['id']}").raise_for_status()


def hold_export(page, job):
    """Press Save while the server does not answer; return what holds the request that waits."""
    held = {}
    page.route(f"**/api/jobs/{job['id']}/export", lambda route: held.update(request=route))
    open_tool(page, "Export")
    page.get_by_role("button", name="Save picture").click()
    expect(page.get_by_role("button", name="Saving")).to_be_disabled()
    return held


def choose(page, job):
    page.locator("#results button", has_text=job["name"]).first.click()
    page.wait_for_function("(id) => panfocus.viewer?.job()?.id === id", arg=job["id"])


def test_another_result_is_saved_meanwhile_and_each_answer_stands_with_its_own(page, job, other):
    held = hold_export(page, job)
    choose(page, other)
    with page.expect_download():
        page.get_by_role("button", name="Save picture").click()
    command = page.locator("#panel-export .command")
    expect(command).to_contain_text("--method dwt")
    with page.expect_download():
        held["request"].continue_()
    expect(command).to_contain_text("--method dwt")
    choose(page, job)
    expect(command).to_contain_text("--method pca")
    expect(page.get_by_role("button", name="Save picture")).to_be_enabled()


def test_what_went_wrong_with_another_result_names_it(page, context, job, other):
    held = hold_export(page, job)
    choose(page, other)
    held["request"].fulfill(status=507, json={"error": "no room on the disk"})
    expect(page.locator(".notice")).to_contain_text(re.compile(f"{job['name']}.*no room on the disk"))
    expect(page.locator("#panel-export .exported")).to_be_empty()
    choose(page, job)
    expect(page.locator("#panel-export .exported")).to_have_text("no room on the disk")
    context.complaints.clear()  # the browser's own line about an answer of 507
