"""Read places and layers from the colours of a screenshot (see pretend_server)."""

import io

import numpy as np
from PIL import Image
from pretend_server import BLUE, HEIGHT, WIDTH

COL_STEP, ROW_STEP = WIDTH / 250, HEIGHT / 250  # what one step of red and of green means
LAYERS = {blue: name for name, blue in BLUE.items()}
SETTLED = """() => {
    const panes = Object.values(app.viewer.panes).filter((pane) => !pane.element.hidden);
    const items = panes.flatMap((pane) => Object.values(pane.slots));
    return items.every(({ source, item, old }) => (!source || item?.getFullyLoaded()) && !old)
        && panes.every(({ osd }) => !osd.isAnimating());
}"""


def settle(page) -> None:
    for _ in range(2):  # what was asked for begins with the next frame; what ends is drawn with the next
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        page.wait_for_function(SETTLED)


def screen(page) -> np.ndarray:
    settle(page)
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)


def box(page, selector: str = ".pane.main") -> dict[str, float]:
    return page.locator(selector).bounding_box()


def within(page, right: float, down: float, selector: str = ".pane.main") -> tuple[int, int]:
    """Return the point of the window at parts of a pane's width and height."""
    area = box(page, selector)
    return int(area["x"] + right * area["width"]), int(area["y"] + down * area["height"])


def seen(page, x: int, y: int) -> tuple[float, float, str]:
    """Return row, column and layer of the pixel at a point of the window."""
    red, green, blue = screen(page)[y, x]
    return green * ROW_STEP, red * COL_STEP, LAYERS[int(blue)]


def chooser(page, name: str):
    return page.get_by_role("combobox", name=name, exact=True)


def view(page, call: str) -> object:
    return page.evaluate(f"() => app.viewer.{call}")
