"""What the page makes of what it is told: of jobs that compile or were ended, of single frames."""

import re

import pytest

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

COMPILING = re.compile("Compiling, once after installing: up to half a minute")


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


def test_compiling_is_a_stage_with_words_of_its_own(tell):
    page = tell(state="running", stage="compile")
    expect(page.locator(".stage-name")).to_have_text(COMPILING)


def test_a_job_that_is_being_cancelled_or_waits_says_so_in_words(tell):
    page = tell(state="running", stage="cancelling")
    stage = page.locator(".stage-name")
    expect(stage).to_have_text("Cancelling")
    for n, words in [(0, "It begins next."), (1, "Another job goes first."), (2, "2 other jobs go first.")]:
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
        expect(stage).to_have_text(words)


def test_the_map_is_described_once_something_is_decided(tell):
    caption = tell(state="running", stage="align").locator(".live figcaption")
    expect(caption).to_contain_text("Colours will show")
    tell(state="running", stage="fuse", live=1)
    expect(caption).to_have_text("Which frame each place is taken from, as far as decided.")


def test_a_job_that_the_user_stopped_says_so_and_is_no_fault(tell):
    page = tell(state="cancelled", error="you stopped it; nothing of it is kept")
    line = page.locator("#progress p", has_text="you stopped it")
    expect(line).to_be_visible()
    expect(line).not_to_have_class(re.compile("error"))
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    page = tell(state="failed", error="panfocus app was ended while this ran")
    expect(page.locator("#progress .error", has_text="panfocus app was ended")).to_be_visible()


def test_the_estimate_tells_of_compiling(tell, serves):
    page = tell(state="cancelled")
    answer = {"seconds": 65, "compiling": 20, "memory": 5e8, "n_frames": 3, "width": 9, "height": 9}
    page.route("**/estimate", lambda route: route.fulfill(json=answer | {"warnings": [], "error": None}))
    page.locator("#settings-details > summary").click()
    page.get_by_label("Align", exact=True).select_option("off")
    expect(page.locator("#estimate")).to_contain_text(
        "About 1 min 5 s (20 s of it for compiling, once after installing), 500 MB of memory."
    )


def test_after_a_fusion_the_estimate_tells_of_no_compiling(tell):
    page = tell(state="running", stage="compile")
    expect(page.locator("#estimate")).to_contain_text("of memory")
    answer = {"seconds": 65, "compiling": 20, "memory": 5e8, "n_frames": 3, "width": 9, "height": 9}
    page.route("**/estimate", lambda route: route.fulfill(json=answer | {"warnings": [], "error": None}))
    page.locator("#settings-details > summary").click()
    page.get_by_label("Align", exact=True).select_option("off")
    expect(page.locator("#estimate")).to_contain_text("for compiling")
    answer["compiling"] = 0
    tell(state="cancelled")
    expect(page.locator("#estimate")).to_have_text("About 1 min 5 s, 500 MB of memory. 3 frames of 9 × 9.")


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
            panfocus.applyMessage({ kind: "frames", stack: id, frames: [{ ...frames[1], sharpness: 2 * best }] });
            panfocus.applyMessage({ kind: "frames", stack: "another", frames: [] });
        }"""
    )
    assert page.evaluate(scores) == pytest.approx([first / 2, 1, third / 2])


def test_the_browser_shows_why_something_is_too_large_to_be_sent(tell):
    page = tell(state="cancelled")
    sent = """panfocus.api.post("/api/stacks", { name: "x".repeat(60e6) })"""
    told = page.evaluate(f"() => {sent}.catch((error) => error.message)")
    assert told.startswith("this has 60 MB, more than the 48 MB that are taken at once")
