"""Input for tools of the viewer."""

import pytest
from viewer_screen import settle, view, within

RECORDING_TOOL = """() => {
    window.heard = [];
    const keep = (kind) => (place, event, down) => heard.push([kind, place.row, place.col, down ?? null]);
    const onKey = (event, place) => heard.push(["key", place.row, place.col, event.key]) && event.key === " ";
    const [onDown, onMove, onUp] = ["down", "move", "up"].map(keep);
    app.viewer.setTool({ name: "try", onDown, onMove, onUp, onKey });
}"""


def test_tool_gets_drags_and_keys_while_the_wheel_zooms(page):
    view(page, "zoom(1)")
    settle(page)
    page.evaluate(RECORDING_TOOL)
    x, y = within(page, 0.4, 0.4)
    begin, end = view(page, f"toImage({x}, {y})"), view(page, f"toImage({x + 80}, {y + 40})")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 80, y + 40, steps=5)
    page.mouse.up()
    heard = page.evaluate("heard")
    assert [kind for kind, *_ in heard if kind != "move"] == ["down", "up"]
    down, up = heard[[kind for kind, *_ in heard].index("down")], heard[-1]
    assert down[1:3] == pytest.approx([begin["row"], begin["col"]])
    assert up[1:3] == pytest.approx([end["row"], end["col"]])
    assert {move[3] for move in heard if move[0] == "move"} == {True, False}
    assert view(page, f"toImage({x}, {y})") == pytest.approx(begin)  # the view has not moved
    assert page.locator(".crops li").count() == 0  # and no place was chosen
    page.mouse.wheel(0, -200)
    settle(page)
    page.wait_for_function("() => app.viewer.scale() > 1.05")
    page.keyboard.press("Space")
    assert page.evaluate("heard.at(-1)")[3] == " "
    view(page, "setTool(null)")
    settle(page)
    before = view(page, f"toImage({x}, {y})")
    page.mouse.down()
    page.mouse.move(x - 50, y, steps=3)
    page.mouse.up()
    settle(page)
    assert view(page, f"toImage({x}, {y})")["col"] > before["col"] + 20


def test_second_finger_cancels_the_stroke_and_zooms(page):
    view(page, "zoom(1)")
    settle(page)
    page.evaluate(RECORDING_TOOL)
    touch = page.context.new_cdp_session(page)
    (x, y), apart = within(page, 0.5, 0.5), 40

    def fingers(kind: str, *points: tuple[int, int]) -> None:
        described = [{"x": px, "y": py, "id": number} for number, (px, py) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": described})

    fingers("touchStart", (x - apart, y))
    fingers("touchMove", (x - apart, y + 5))
    fingers("touchStart", (x - apart, y + 5), (x + apart, y))
    assert [kind for kind, *_ in page.evaluate("heard") if kind != "move"] == ["down", "up"]
    strokes = len(page.evaluate("heard"))
    for wider in range(10, 90, 20):
        fingers("touchMove", (x - apart - wider, y + 5), (x + apart + wider, y))
    fingers("touchEnd")
    settle(page)
    assert view(page, "scale()") > 1.3
    assert len(page.evaluate("heard")) == strokes
