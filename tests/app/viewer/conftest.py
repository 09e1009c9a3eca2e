"""The viewer on a page of a simulated server (see pretend_server)."""

from collections.abc import Iterator

import pytest
from pretend_server import PretendServer, serving
from viewer_screen import settle

from browser import new_context

RESET = """() => {
    const { viewer } = app;
    app.state.get().jobs = app.jobs;
    app.changed();
    viewer.setTool(null);
    viewer.cursor.setVisible(false);
    viewer.show(null);
    viewer.compare(null, 0.5);
    viewer.overlay(null, 0.5);
    viewer.show(app.jobs[0], "fused");
    viewer.fit();
    scrollTo(0, 0);
}"""


@pytest.fixture(scope="module")
def page_server() -> Iterator[PretendServer]:
    with serving() as started:
        yield started


@pytest.fixture(scope="module")
def opened(chromium, page_server):
    """Open the page once per module."""
    context = new_context(chromium, height=900)
    opened = context.new_page()
    opened.goto(f"http://127.0.0.1:{page_server.server_port}/")
    yield opened
    context.close()


@pytest.fixture
def page(opened):
    """Reset the page to the fitted fused picture; a console error fails the test."""
    opened.set_viewport_size({"width": 1280, "height": 900})
    opened.wait_for_function("() => window.app")
    opened.evaluate(RESET)
    settle(opened)
    yield opened
    assert opened.context.complaints == []


@pytest.fixture
def server(page_server) -> PretendServer:
    page_server.asked.clear()
    page_server.cut.clear()
    return page_server
