"""An attack from a page of another port, in the same browser.

Both are of the same site, so that the browser sends the cookie with requests of the attacker.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

EVIL = b"""<!doctype html><title>evil</title>
<iframe id="frame" name="frame"></iframe><form id="form" method="post" target="frame"></form>"""

ATTACK = """async (url) => {
    const outcome = {};
    for (const [name, how] of Object.entries({
        simple: {mode: "no-cors", method: "POST", body: '{"name": "evil"}'},
        cors: {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"name": "evil"}'},
        removal: {method: "DELETE"},
        reading: {},
    })) {
        try {
            const answer = await fetch(url + "/api/" + (name === "reading" ? "state" : "stacks"),
                                       {credentials: "include", ...how});
            outcome[name] = answer.type === "opaque" ? "sent blindly" : await answer.text();
        } catch (error) { outcome[name] = "blocked"; }
    }
    outcome.script = await new Promise((done) => {
        const script = document.createElement("script");
        script.onload = () => done("loaded");
        script.onerror = () => done("blocked");
        script.src = url + "/static/js/main.js";
        document.head.append(script);
    });
    const form = document.getElementById("form");
    form.action = url + "/api/stacks";
    form.submit();
    await new Promise((done) => setTimeout(done, 500));
    const frame = document.getElementById("frame");
    await new Promise((done) => { frame.onload = done; frame.src = url + "/"; });
    return outcome;
}"""


class Evil(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(EVIL)

    def log_message(self, *_):
        pass


@pytest.fixture
def evil():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def tabs(chromium):
    context = chromium.new_context()
    yield context
    context.close()


def test_page_of_another_origin_cannot_read_or_change_anything(server, evil, tabs):
    own = tabs.new_page()
    own.goto(server.address)
    assert own.url == f"{server.url}/"
    assert own.evaluate("fetch('/api/state').then((answer) => answer.status)") == 200
    before = [stack["id"] for stack in server.state()["stacks"]]
    other = tabs.new_page()
    other.goto(evil)
    outcome = other.evaluate(ATTACK, server.url)
    assert outcome == dict.fromkeys(("simple", "cors", "removal", "reading", "script"), "blocked")
    framed = next(frame for frame in other.frames if frame.name == "frame")
    assert "panfocus" not in framed.content().replace("panfocus app printed", "")
    assert [stack["id"] for stack in server.state()["stacks"]] == before
    # The page itself still works.
    made = own.evaluate(
        """fetch('/api/stacks', {method: 'POST', body: '{"name": "own"}'}).then((answer) => answer.status)"""
    )
    assert made == 201
