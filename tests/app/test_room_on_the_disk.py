"""The disk space of results, and how it is freed."""

import shutil

import pytest
import small_stacks
from app_server import wait
from page_steps import Visit

from browser import JOB_TIMEOUT

MB = 1_000_000


def fused(server, n=1):
    """Return a stack and its results."""
    small_stacks.write(server.root / "locust", size=(300, 400))
    stack = server.client.post("/api/stacks", json={"folder": str(server.root / "locust")}).json()["id"]
    wanted = {"stack": stack, "options": {"method": "pca", "align": "off"}}
    jobs = [server.client.post("/api/jobs", json=wanted).json()["id"] for _ in range(n)]
    for _ in wait(JOB_TIMEOUT / 1000):
        if all(job["state"] == "done" for job in server.state()["jobs"] if job["id"] in jobs):
            return stack, jobs
    raise AssertionError("not done")


def learned(server, stack, job):
    """Return a learning from frames of a result."""
    wanted = {
        "stack": stack,
        "job": job,
        "name": "small",
        "regions": [{"focused": 0, "blurred": 1, "top": 0, "left": 0, "height": 80, "width": 80}],
        "settings": {"patch_size": 4, "atoms": 16, "rounds": 2, "samples": 400},
    }
    made = server.client.post("/api/jobs", json={"learn": wanted}).raise_for_status().json()["id"]
    for _ in wait(JOB_TIMEOUT / 1000):
        if "small" in server.state()["dictionaries"] and not any(
            job["state"] == "running" for job in server.state()["jobs"]
        ):
            return made
    raise AssertionError("not learned")


def on_disk(server, job):
    return sum(path.stat().st_size for path in (server.work / "jobs" / job).rglob("*") if path.is_file())


def test_space_of_results_and_training_runs_is_shown_and_freed(chromium, page_server):
    from playwright.sync_api import expect

    stack, jobs = fused(page_server, n=2)
    learning = learned(page_server, stack, jobs[0])
    answer = page_server.client.get("/api/space").json()
    assert answer["jobs"][jobs[0]] == on_disk(page_server, jobs[0]) > MB
    assert answer["free"] == pytest.approx(shutil.disk_usage(page_server.work).free, rel=0.1)

    visit = Visit(chromium, f"{page_server.address}#stack={stack}")
    visit.page.on("dialog", lambda dialog: dialog.accept())
    line, rows = visit.page.locator("#space"), visit.page.locator(".results > li")
    sizes = [on_disk(page_server, job) / MB for job in (*jobs, learning)]
    expect(line).to_contain_text(f"used: {sum(sizes):.1f} MB")
    expect(rows.nth(1)).to_contain_text(f", {sizes[1]:.1f} MB")
    visit.page.get_by_role("button", name="Delete fusion 1").click()
    expect(line).to_contain_text(f"used: {sum(sizes[1:]):.1f} MB")
    visit.page.get_by_role("button", name="Delete fusion 2").click()
    expect(line).to_contain_text(f"used: {1000 * sizes[2]:.0f} kB")
    expect(rows).to_contain_text(f"done, {1000 * sizes[2]:.0f} kB")
    visit.page.get_by_role("button", name="Delete training of small").click()
    expect(rows).to_have_count(0)
    assert not page_server.client.get("/api/space").json()["jobs"].keys() & {*jobs, learning}
    assert "small" in page_server.state()["dictionaries"]  # it is kept
    assert visit.complaints == []
    visit.close()
