"""What a user does on the page, step by step: for tests of the whole way and for pictures of the docs."""

import base64

from browser import JOB_TIMEOUT, new_context

DROP = """([files, target]) => {
    const transfer = new DataTransfer();
    for (const [name, data] of files) {
        const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
        transfer.items.add(new File([bytes], name));
    }
    for (const kind of ["dragenter", "dragover", "drop"]) {
        const event = new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true });
        document.querySelector(target).dispatchEvent(event);
    }
}"""
MOUNTED = "[...document.querySelectorAll('[role=tabpanel]')].every((panel) => panel.childElementCount)"
SETTLED = f"""() => panfocus.viewer?.job() && {MOUNTED} && Object.values(panfocus.viewer.panes)
    .every((pane) => pane.element.hidden || (pane.isLoaded && !pane.osd.isAnimating()))"""
PICTURES_SEEN = "() => [...document.images].every((image) => image.complete || !image.checkVisibility())"
LARGER_SEEN = "() => document.querySelector('.frame-view img').src.includes('/pictures/')"


def states(visit, frames):
    """Go the whole way, and yield the name of each state of the page once it is there."""
    page = visit.page
    page.locator("#welcome").wait_for()
    yield "start"
    visit.drop(frames)
    page.locator("#fuse:enabled").wait_for()
    page.locator("#estimate", has_text="memory").wait_for()
    yield "frames"
    page.locator(".frame-picture").first.click()
    page.wait_for_function(LARGER_SEEN)
    yield "frame"
    page.keyboard.press("Escape")
    visit.open_part("Settings")
    yield "settings"
    visit.open_part("Settings")
    visit.click("button", "Fuse")
    page.locator(".live").wait_for(timeout=JOB_TIMEOUT)
    yield "running"
    visit.see_result()
    yield "result"
    if page.locator(".fold").first.is_visible():  # not on a phone, where nothing is beside the picture
        visit.fold()
        yield "folded"
        visit.fold()
    visit.choose("Compare with", "frame-0")
    visit.choose("Overlay", "depth")
    visit.settle()
    yield "compared"
    visit.choose("Overlay", "")
    visit.settle()
    visit.look_at(*visit.part(0.66, 0.43))
    page.locator(".crops li").nth(len(frames)).wait_for()
    page.wait_for_function(PICTURES_SEEN)
    yield "place"
    visit.choose("Compare with", "")
    visit.click("tab", "Retouch")
    page.get_by_role("radio").nth(1).check()
    visit.drag(visit.part(0.40, 0.56), visit.part(0.43, 0.62), visit.part(0.48, 0.66))
    page.get_by_text("All strokes are saved").wait_for()
    visit.settle()
    yield "retouch"
    visit.click("tab", "Relief")
    page.locator(".relief canvas").wait_for()
    page.wait_for_timeout(500)  # drawn by a worker
    yield "relief"
    visit.click("tab", "Export")
    page.locator("#panel-export button[type=submit]").click()
    page.locator("#panel-export .command").wait_for(timeout=JOB_TIMEOUT)
    yield "export"
    visit.click("tab", "Learn")
    visit.settle()
    visit.drag(visit.part(0.04, 0.03), visit.part(0.3, 0.18))
    visit.drag(visit.part(0.56, 0.38), visit.part(0.84, 0.58))
    page.get_by_label("Focused in").nth(1).wait_for()
    visit.open_part("Learning settings")
    visit.fill_in({"Atoms": 64, "Rounds": 5, "Samples": 2000})
    visit.open_part("Learning settings")
    others = page.evaluate("panfocus.state.get().dictionaries.length")
    page.get_by_label("Name", exact=True).fill(f"learned {others + 1}")
    page.get_by_role("button", name="Learn a dictionary").click()
    page.get_by_role("button", name="Use dictionary").wait_for(timeout=JOB_TIMEOUT)
    page.locator(".atoms").scroll_into_view_if_needed()
    page.wait_for_function(PICTURES_SEEN)
    yield "learn"


def asked_before_leaving(page):
    """Wait until the browser asks whether the page shall be left, and stay."""
    page.mouse.click(1, 1)  # it asks nobody who has done nothing
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.evaluate("() => void setTimeout(() => location.reload())")
    return asked.value.type == "beforeunload"


class Visit:
    """A user at the page: what is done is counted, what goes wrong is heard."""

    def __init__(self, chromium, address, *, width=1280, height=800, **how):
        self.context = new_context(chromium, width=width, height=height, **how)
        self.complaints = self.context.complaints
        self.responses = []  # their addresses
        self.actions = 0
        self.context.on("requestfailed", self._note_failure)
        self.context.on("response", self._note_response)
        self.page = self.new_tab(address)

    def new_tab(self, address):
        page = self.context.new_page()
        page.goto(address)
        return page

    def drop(self, paths, target="#main"):
        """Drop files on the page."""
        self.actions += 1
        files = [(path.name, base64.b64encode(path.read_bytes()).decode()) for path in paths]
        self.page.evaluate(DROP, [files, target])

    def click(self, role, name):
        self.actions += 1
        self.page.get_by_role(role, name=name, exact=True).click()

    def choose(self, label, entry):
        self.actions += 1
        self.page.get_by_role("combobox", name=label, exact=True).select_option(entry)

    def open_part(self, name):
        """Unfold what is folded under a line."""
        self.actions += 1
        self.page.locator("summary", has_text=name).locator("visible=true").click()

    def fold(self):
        """Fold away what is beside the picture, or unfold it."""
        for button in self.page.locator(".fold").all():
            self.actions += 1
            button.click()
        self.settle()

    def see_result(self):
        """Wait until the fusion is done and all of its picture that shall be seen has come."""
        self.page.locator("#viewer").wait_for(timeout=JOB_TIMEOUT)
        self.settle()

    def settle(self):
        for _ in range(2):  # what was asked for begins with the next frame; what ends is drawn with the next
            self.page.evaluate(
                "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            self.page.wait_for_function(SETTLED)

    def part(self, down, right):
        """Return the place (row, col) at parts of the picture's height and width."""
        shown = self.page.evaluate("panfocus.viewer.job().result")
        return round(down * shown["height"]), round(right * shown["width"])

    def fill_in(self, values):
        """Fill in settings of learning."""
        for name, value in values.items():
            self.actions += 1
            self.page.locator("#panel-learn").get_by_label(name, exact=True).fill(str(value))

    def point_of(self, row, col):
        """Bring the picture into the window, and return where in it a pixel is."""
        x, y = self.page.evaluate(
            """([row, col]) => {
                panfocus.viewer.stage.scrollIntoView({ block: "nearest" });
                const { x, y } = panfocus.viewer.toScreen(row, col);
                const { left, top } = panfocus.viewer.panes.main.element.getBoundingClientRect();
                return [left + x, top + y];
            }""",
            [row, col],
        )
        return x, y

    def look_at(self, row, col):
        """Click on a place."""
        self.actions += 1
        self.page.mouse.click(*self.point_of(row, col))

    def drag(self, *places):
        """Press on the first place (row, col), move over the others, let go on the last."""
        self.actions += 1
        points = [self.point_of(*place) for place in places]
        self.page.mouse.move(*points[0])
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*point, steps=4)
        self.page.mouse.up()

    def save(self, to, n=1):
        """Press what saves, and return the files that the browser was given."""
        self.actions += 1
        saved = []
        save = self.page.locator("#panel-export button[type=submit]")
        for i in range(n):
            with self.page.expect_download(timeout=JOB_TIMEOUT) as coming:
                if i == 0:
                    save.click()
            saved.append(coming.value)
        paths = [to / download.suggested_filename for download in saved]
        for download, path in zip(saved, paths, strict=True):
            download.save_as(path)
        return paths

    def close(self):
        self.context.close()

    def _note_failure(self, request):
        if request.failure != "net::ERR_ABORTED":  # the page itself has left it
            self.complaints.append(f"{request.url} {request.failure}")

    def _note_response(self, response):
        self.responses.append(response.url)
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")
