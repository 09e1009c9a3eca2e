"""What the page makes of what it is told: of jobs that compile or were ended, of single frames."""

import re

import pytest

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect


@pytest.fixture
def tell(chromium, serves):
    """Open a stack, and return the page with what tells it of a job, as the server would."""
    made = serves.client.post("/api/stacks", json={"folder": str(serves.root / "beetle")}).json()
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    # At once: a page that gets another address reads anew what the server knows, which is no such job.
    page.goto(f"{serves.address}#stack={made['id']}")
    expect(page.locator("#fuse")).to_be_enabled()

    def told(**job):
        fresh = {"error": None, "stage": "", "done": 0, "live": 0, "result": None, "retouch": None}
        fresh |= {"said": [], "warnings": [], "options": {}, "command": "", "created": 1, "ended": None}
        fresh |= {"id": "told", "stack": made["id"], "kind": "fuse", "name": "1. panfocus", "started": 1}
        page.evaluate("(job) => panfocus.applyMessage({ kind: 'job', job })", fresh | job)
        page.evaluate("([stack, job]) => panfocus.select(stack, job)", [made["id"], "told"])
        return page

    yield told
    context.close()
    serves.client.delete(f"/api/stacks/{made['id']}").raise_for_status()


def test_stage_of_a_running_or_queued_job_is_described(tell, message):
    stage = tell(state="running").locator(".stage-name")
    page = stage.page
    for name in ("compile", "cancelling"):
        before = stage.inner_text()
        tell(state="running", stage=name)
        expect(stage).not_to_have_text(before)
        message(f"page: stage {name}", stage.inner_text())
    for n in range(3):
        text = stage.inner_text()
        before = [{"id": f"before-{k}", "state": "queued"} for k in range(n)]
        tell(state="queued", id="told", created=1)
        page.evaluate(
            """(others) => {
                const own = panfocus.job();
                const jobs = [...others.map((other) => ({ ...own, ...other })), own];
                panfocus.state.set({ jobs });
            }""",
            before,
        )
        expect(stage).not_to_have_text(text)
        message(f"page: {n} jobs before", stage.inner_text())


def test_the_map_is_described_once_something_is_decided(tell):
    caption = tell(state="running", stage="align").locator(".live figcaption")
    text = caption.inner_text()
    tell(state="running", stage="fuse", live=1)
    expect(caption).not_to_have_text(text)


def test_a_job_that_the_user_stopped_says_so_and_is_no_fault(tell):
    page = tell(state="cancelled", error="stopped by the user")
    line = page.locator("#progress p", has_text="stopped by the user")
    expect(line).to_be_visible()
    expect(line).not_to_have_class(re.compile("error"))
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    page = tell(state="failed", error="the server ended")
    expect(page.locator("#progress .error", has_text="the server ended")).to_be_visible()


def test_the_estimate_tells_of_compiling(tell, message):
    page = tell(state="cancelled")
    answer = {"seconds": 65, "compiling": 20, "memory": 5e8, "n_frames": 3, "width": 9, "height": 9}
    page.route("**/estimate", lambda route: route.fulfill(json=answer | {"warnings": [], "error": None}))
    page.locator("#settings-details > summary").click()
    page.get_by_label("Align", exact=True).select_option("off")
    expect(page.locator("#estimate")).to_contain_text("1 min 5 s")
    message("page: estimate with compilation", page.locator("#estimate").inner_text())


def test_after_a_fusion_the_estimate_tells_of_no_compiling(tell, message):
    page = tell(state="running", stage="compile")
    expect(page.locator("#estimate")).to_contain_text("of memory")
    answer = {"seconds": 65, "compiling": 20, "memory": 5e8, "n_frames": 3, "width": 9, "height": 9}
    page.route("**/estimate", lambda route: route.fulfill(json=answer | {"warnings": [], "error": None}))
    page.locator("#settings-details > summary").click()
    page.get_by_label("Align", exact=True).select_option("off")
    expect(page.locator("#estimate")).to_contain_text("20 s")
    answer["compiling"] = 0
    tell(state="cancelled")
    expect(page.locator("#estimate")).not_to_contain_text("20 s")
    message("page: estimate", page.locator("#estimate").inner_text())


def test_settings_that_were_chosen_stay_with_their_stack(tell, serves):
    page = tell(state="cancelled", options={"method": "pca"})
    first = page.url
    other = serves.client.post("/api/stacks", json={"folder": str(serves.root / "beetle")}).json()["id"]
    page.locator("#settings-details > summary").click()
    method, align = page.locator("#method"), page.get_by_label("Align", exact=True)
    method.select_option("coupled")
    align.select_option("off")
    expect(page.locator(f"#stack-select option[value={other!r}]")).to_have_count(1)
    page.locator("#stack-select").select_option(other)
    expect(method).to_have_value("panfocus")
    expect(align).to_have_value("auto")
    page.goto(first)
    expect(method).to_have_value("coupled")
    page.reload()
    expect(method).to_have_value("coupled")
    expect(align).to_have_value("off")
    serves.client.delete(f"/api/stacks/{other}").raise_for_status()


def test_a_frame_that_is_told_of_alone_changes_what_is_shown_of_all(tell):
    page = tell(state="cancelled")
    scores = "() => [...document.querySelectorAll('.focus-score meter')].map((meter) => meter.value)"
    first, _, third = page.evaluate(scores)
    page.evaluate(
        """() => {
            const { id, frames } = panfocus.stack();
            const best = Math.max(...frames.map((frame) => frame.sharpness));
            const changed = [{ ...frames[1], sharpness: 2 * best }];
            panfocus.applyMessage({ kind: "frames", stack: id, frames: changed });
            panfocus.applyMessage({ kind: "frames", stack: "another", frames: [] });
        }"""
    )
    assert page.evaluate(scores) == pytest.approx([first / 2, 1, third / 2])


def test_the_browser_shows_why_something_is_too_large_to_be_sent(tell):
    page = tell(state="cancelled")
    sent = """panfocus.api.post("/api/stacks", { name: "x".repeat(60e6) })"""
    status, text = page.evaluate(f"() => {sent}.catch((error) => [error.status, error.message])")
    assert status == 413
    assert "60 MB" in text
