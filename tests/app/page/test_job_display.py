"""The display of jobs, estimates, settings and frames, for states that the server reports."""

import re

import pytest
from page_steps import Visit

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect

ESTIMATE = {
    "seconds": 9,
    "compiling": 0,
    "memory": 5e8,
    "n_frames": 3,
    "width": 9,
    "height": 9,
    "error": None,
}


@pytest.fixture
def show_job(chromium, page_server):
    """Open a stack. Return a function that applies a job message and returns the page."""
    made = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "beetle")}).json()
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    # In the first address: after a change of the hash the page reads the state, which has no such job.
    page.goto(f"{page_server.address}#stack={made['id']}")
    expect(page.locator("#fuse")).to_be_enabled()

    def show(**job):
        fresh = {"error": None, "stage": "", "done": 0, "live": 0, "result": None, "retouch": None}
        fresh |= {"said": [], "warnings": [], "options": {}, "command": "", "created": 1, "ended": None}
        fresh |= {"id": "told", "stack": made["id"], "kind": "fuse", "name": "1. panfocus", "started": 1}
        page.evaluate("(job) => panfocus.applyMessage({ kind: 'job', job })", fresh | job)
        page.evaluate("([stack, job]) => panfocus.select(stack, job)", [made["id"], "told"])
        return page

    yield show
    context.close()
    page_server.client.delete(f"/api/stacks/{made['id']}").raise_for_status()


def test_stage_of_a_running_or_queued_job_is_described(show_job, message):
    stage = show_job(state="running").locator(".stage-name")
    page = stage.page
    for name in ("compile", "cancelling"):
        before = stage.inner_text()
        show_job(state="running", stage=name)
        expect(stage).not_to_have_text(before)
        message(f"page: stage {name}", stage.inner_text())
    for n in range(3):
        text = stage.inner_text()
        before = [{"id": f"before-{k}", "state": "queued"} for k in range(n)]
        show_job(state="queued", id="told", created=1)
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


def test_live_map_has_its_own_caption(show_job):
    caption = show_job(state="running", stage="align").locator(".live figcaption")
    text = caption.inner_text()
    show_job(state="running", stage="fuse", live=1)
    expect(caption).not_to_have_text(text)


def test_cancelled_job_is_not_shown_as_an_error(show_job):
    page = show_job(state="cancelled", error="stopped by the user")
    line = page.locator("#progress p", has_text="stopped by the user")
    expect(line).to_be_visible()
    expect(line).not_to_have_class(re.compile("error"))
    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    page = show_job(state="failed", error="the server ended")
    expect(page.locator("#progress .error", has_text="the server ended")).to_be_visible()


def test_estimate_includes_compilation(show_job, message):
    page = show_job(state="cancelled")
    answer = {"seconds": 65, "compiling": 20, "memory": 5e8, "n_frames": 3, "width": 9, "height": 9}
    page.route("**/estimate", lambda route: route.fulfill(json=answer | {"warnings": [], "error": None}))
    page.locator("#settings-details > summary").click()
    page.get_by_label("Align", exact=True).select_option("off")
    expect(page.locator("#estimate")).to_contain_text("1 min 5 s")
    message("page: estimate with compilation", page.locator("#estimate").inner_text())


def test_estimate_after_a_fusion_excludes_compilation(show_job, message):
    page = show_job(state="running", stage="compile")
    expect(page.locator("#estimate")).to_contain_text("of memory")
    answer = {"seconds": 65, "compiling": 20, "memory": 5e8, "n_frames": 3, "width": 9, "height": 9}
    page.route("**/estimate", lambda route: route.fulfill(json=answer | {"warnings": [], "error": None}))
    page.locator("#settings-details > summary").click()
    page.get_by_label("Align", exact=True).select_option("off")
    expect(page.locator("#estimate")).to_contain_text("20 s")
    answer["compiling"] = 0
    show_job(state="cancelled")
    expect(page.locator("#estimate")).not_to_contain_text("20 s")
    message("page: estimate", page.locator("#estimate").inner_text())


def test_settings_are_remembered_for_each_stack(show_job, page_server):
    page = show_job(state="cancelled", options={"method": "pca"})
    first = page.url
    other = page_server.client.post("/api/stacks", json={"folder": str(page_server.root / "beetle")}).json()[
        "id"
    ]
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
    page_server.client.delete(f"/api/stacks/{other}").raise_for_status()


def test_update_of_one_frame_changes_all_focus_scores(show_job):
    page = show_job(state="cancelled")
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


@pytest.fixture
def stacks(page_server):
    """Two stacks of the same frames."""
    wanted = {"folder": str(page_server.root / "beetle")}
    made = [page_server.client.post("/api/stacks", json=wanted).json()["id"] for _ in range(2)]
    for stack in made:
        page_server.seen(stack)
    yield made
    for stack in made:
        page_server.client.delete(f"/api/stacks/{stack}").raise_for_status()


@pytest.fixture
def estimated(chromium, page_server, stacks):
    """The first stack, with a warning in its estimate; the estimate of the second one never comes."""
    visit = Visit(chromium, page_server.address)
    answer = ESTIMATE | {"warnings": ["too dark"], "command": "panfocus fuse first"}
    visit.page.route(f"**/{stacks[0]}/estimate", lambda route: route.fulfill(json=answer))
    visit.page.route(f"**/{stacks[1]}/estimate", lambda route: None)
    visit.page.evaluate("(stack) => panfocus.loaded.then(() => panfocus.select(stack))", stacks[0])
    visit.unfold("Command line")
    expect_estimate(visit.page, there=True)
    yield visit.page
    visit.close()
    assert visit.complaints == []


def expect_estimate(page, *, there):
    parts = page.locator("#settings")
    expect(parts.locator(".command")).to_have_text("panfocus fuse first" if there else "")
    for part in (parts.locator(".command"), parts.get_by_role("button", name="Copy")):
        expect(part).to_be_visible(visible=there)
    expect(parts.get_by_text("too dark")).to_be_visible(visible=there)


def test_command_and_warnings_are_hidden_without_frames(estimated):
    page = estimated
    page.get_by_role("button", name="None", exact=True).click()
    expect(page.locator("#estimate")).to_contain_text("two frames")
    expect_estimate(page, there=False)
    page.get_by_role("button", name="All", exact=True).click()
    expect_estimate(page, there=True)


def test_command_is_hidden_while_another_stack_is_estimated(estimated, stacks):
    page = estimated
    page.evaluate("(stack) => panfocus.select(stack)", stacks[1])
    expect(page.locator("#estimate")).to_have_text("Estimating …")
    expect_estimate(page, there=False)
    page.evaluate("(stack) => panfocus.select(stack)", stacks[0])
    expect_estimate(page, there=True)
