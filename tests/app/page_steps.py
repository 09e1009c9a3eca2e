"""Actions of a user on the page: for tests, and for the pictures of the docs."""

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
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def walk_states(visit, frames):
    """Use every part of the page, and yield the name of each state when it is complete."""
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
    visit.unfold("Settings")
    yield "settings"
    visit.unfold("Settings")
    visit.click("button", "Fuse")
    page.locator(".live").wait_for(timeout=JOB_TIMEOUT)
    yield "running"
    visit.wait_for_result()
    yield "result"
    if page.locator(".fold").first.is_visible():  # not on a phone, where nothing is beside the picture
        visit.toggle_side_panels()
        yield "folded"
        visit.toggle_side_panels()
    visit.choose("Compare with", "frame-0")
    visit.choose("Overlay", "depth")
    visit.settle()
    yield "compared"
    visit.choose("Overlay", "")
    visit.settle()
    visit.inspect(*visit.place_at(0.66, 0.43))
    page.locator(".crops li").nth(len(frames)).wait_for()
    page.wait_for_function(PICTURES_SEEN)
    yield "place"
    visit.choose("Compare with", "")
    visit.click("tab", "Retouch")
    page.get_by_role("radio").nth(1).check()
    visit.drag(visit.place_at(0.40, 0.56), visit.place_at(0.43, 0.62), visit.place_at(0.48, 0.66))
    page.get_by_text("All strokes are saved").wait_for()
    visit.settle()
    yield "retouch"
    visit.click("tab", "Relief")
    page.locator(".relief canvas").wait_for()
    yield "relief"
    visit.click("tab", "Export")
    page.locator("#panel-export button[type=submit]").click()
    page.locator("#panel-export .command").wait_for(timeout=JOB_TIMEOUT)
    yield "export"
    visit.click("tab", "Learn")
    visit.settle()
    visit.drag(visit.place_at(0.04, 0.03), visit.place_at(0.3, 0.18))
    visit.drag(visit.place_at(0.56, 0.38), visit.place_at(0.84, 0.58))
    page.get_by_label("Focused in").nth(1).wait_for()
    visit.unfold("Learning settings")
    visit.fill_learning_settings({"Atoms": 64, "Rounds": 5, "Samples": 2000})
    visit.unfold("Learning settings")
    others = page.evaluate("panfocus.state.get().dictionaries.length")
    page.get_by_label("Name", exact=True).fill(f"learned {others + 1}")
    page.get_by_role("button", name="Learn a dictionary").click()
    page.get_by_role("button", name="Use dictionary").wait_for(timeout=JOB_TIMEOUT)
    page.locator(".atoms").scroll_into_view_if_needed()
    page.wait_for_function(PICTURES_SEEN)
    yield "learn"


def wait_until_drawn(page):
    """Wait until the page has shown the changes that were under way, and sent their requests."""
    page.evaluate(DRAWN)


def settle(page):
    """Wait until the viewer has loaded its tiles and stands still."""
    for _ in range(2):  # changes begin with the next frame and end with another one
        wait_until_drawn(page)
        page.wait_for_function(SETTLED)


def wait_until(page, condition):
    """Wait for something that the handlers of this test notice; return it."""
    for _ in range(3000):
        if found := condition():
            return found
        page.wait_for_timeout(20)  # the handlers run meanwhile
    raise AssertionError("it did not happen")


def is_asked_before_unload(page):
    """Reload the page and dismiss the question. Return whether it was asked."""
    page.mouse.click(1, 1)  # without a user action it does not ask
    with page.expect_event("dialog") as asked:
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.evaluate("() => void setTimeout(() => location.reload())")
    return asked.value.type == "beforeunload"


class Visit:
    """A user of the page, with the number of `actions` and a list of `complaints`."""

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

    def unfold(self, name):
        """Unfold or fold the details of a summary."""
        self.actions += 1
        self.page.locator("summary", has_text=name).locator("visible=true").click()

    def toggle_side_panels(self):
        """Fold the side panels, or show them."""
        for button in self.page.locator(".fold").all():
            self.actions += 1
            button.click()
        self.settle()

    def wait_for_result(self):
        """Wait until the fusion is done and its visible tiles are loaded."""
        self.page.locator("#viewer").wait_for(timeout=JOB_TIMEOUT)
        self.settle()

    def settle(self):
        settle(self.page)

    def place_at(self, down, right):
        """Return the place (row, col) at fractions of the picture's height and width."""
        shown = self.page.evaluate("panfocus.viewer.job().result")
        return round(down * shown["height"]), round(right * shown["width"])

    def fill_learning_settings(self, values):
        """Fill in learning settings."""
        for name, value in values.items():
            self.actions += 1
            self.page.locator("#panel-learn").get_by_label(name, exact=True).fill(str(value))

    def get_point(self, row, col):
        """Scroll to the picture, and return the point of a pixel in the window."""
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

    def inspect(self, row, col):
        """Click on a place."""
        self.actions += 1
        self.page.mouse.click(*self.get_point(row, col))

    def drag(self, *places):
        """Drag from the first place (row, col) over the others to the last one."""
        self.actions += 1
        points = [self.get_point(*place) for place in places]
        self.page.mouse.move(*points[0])
        self.page.mouse.down()
        for point in points[1:]:
            self.page.mouse.move(*point, steps=4)
        self.page.mouse.up()

    def save(self, to, n=1):
        """Export, and return the downloaded files."""
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
        if request.failure != "net::ERR_ABORTED":  # cancelled by the page
            self.complaints.append(f"{request.url} {request.failure}")

    def _note_response(self, response):
        self.responses.append(response.url)
        if response.status >= 400:
            self.complaints.append(f"{response.status} {response.url}")
