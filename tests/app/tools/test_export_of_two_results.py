"""Two results exported at the same time."""

import re

import pytest
from app_server import wait
from tool_screen import open_tool

playwright = pytest.importorskip("playwright.sync_api")

expect = playwright.expect


@pytest.fixture(scope="module")
def other(page_server, job):
    """Another result of the same stack."""
    wanted = {"stack": job["stack"], "options": {"method": "dwt", "align": "off"}}
    made = page_server.client.post("/api/jobs", json=wanted).json()
    for _ in wait(60):
        (now,) = (each for each in page_server.state()["jobs"] if each["id"] == made["id"])
        if now["state"] == "done":
            break
    yield now
    page_server.client.delete(f"/api/jobs/{made['id']}").raise_for_status()


def hold_export(page, job):
    """Press Save and delay its request. Return a dict with the delayed route."""
    held = {}
    page.route(f"**/api/jobs/{job['id']}/export", lambda route: held.update(request=route))
    open_tool(page, "Export")
    page.get_by_role("button", name="Save picture").click()
    expect(page.get_by_role("button", name="Saving")).to_be_disabled()
    return held


def choose(page, job):
    page.locator("#results button", has_text=job["name"]).first.click()
    page.wait_for_function("(id) => panfocus.viewer?.job()?.id === id", arg=job["id"])


def test_two_results_are_exported_at_the_same_time(page, job, other):
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


def test_failed_export_of_another_result_is_named(page, context, job, other):
    held = hold_export(page, job)
    choose(page, other)
    held["request"].fulfill(status=507, json={"error": "disk full"})
    expect(page.locator(".notice")).to_contain_text(re.compile(f"{job['name']}.*disk full"))
    expect(page.locator("#panel-export .exported")).to_be_empty()
    choose(page, job)
    expect(page.locator("#panel-export .exported")).to_have_text("disk full")
    context.complaints.clear()  # the browser's line about a response of 507
