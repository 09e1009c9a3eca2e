"""How much room results take on the disk, and what is said where there is none."""

import shutil

import pytest
import small_stacks
from app_server import running_server, wait
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


def test_the_server_tells_what_each_result_takes(server):
    _, (job,) = fused(server)
    told = server.client.get("/api/space").json()
    assert told["jobs"][job] == on_disk(server, job) > MB
    assert told["free"] == pytest.approx(shutil.disk_usage(server.work).free, rel=0.1)


def test_page_shows_the_disk_space_of_results(chromium, page_server):
    from playwright.sync_api import expect

    stack, jobs = fused(page_server, n=2)
    visit = Visit(chromium, f"{page_server.address}#stack={stack}")
    line = visit.page.locator("#space")
    both = sum(on_disk(page_server, job) for job in jobs) / MB
    one = on_disk(page_server, jobs[1]) / MB
    expect(line).to_contain_text(f"{both:.1f} MB")
    expect(visit.page.locator(".results > li").nth(1)).to_contain_text(f", {one:.1f} MB")
    visit.page.on("dialog", lambda dialog: dialog.accept())
    visit.page.get_by_role("button", name="Delete fusion 1").click()
    expect(line).to_contain_text(f"{one:.1f} MB")
    assert visit.complaints == []
    visit.close()


def test_files_of_a_training_run_are_counted_and_deleted(chromium, tmp_path):
    from playwright.sync_api import expect

    (tmp_path / "pictures").mkdir()
    with running_server(tmp_path / "work", tmp_path / "pictures") as server:
        stack, (job,) = fused(server)
        learning = learned(server, stack, job)
        visit = Visit(chromium, f"{server.address}#stack={stack}")
        visit.page.on("dialog", lambda dialog: dialog.accept())
        line = visit.page.locator("#space")
        both = (on_disk(server, job) + on_disk(server, learning)) / MB
        expect(line).to_contain_text(f"{both:.1f} MB;")
        visit.page.get_by_role("button", name="Delete fusion 1").click()
        left = round(on_disk(server, learning) / 1000)
        expect(line).to_contain_text(f"{left} kB;")
        row = visit.page.locator(".results > li")
        expect(row).to_contain_text("Training of small")
        expect(row).to_contain_text(f"done, {left} kB")
        visit.page.get_by_role("button", name="Delete training of small").click()
        expect(row).to_have_count(0)
        assert server.client.get("/api/space").json()["jobs"] == {}
        assert server.state()["dictionaries"] == ["small"]
        assert visit.complaints == []
        visit.close()
