"""A server of the page's files with a pretended job, whose pictures tell by their colours what is shown.

Red is the column and green the row (0 to 250 over the picture); blue names the layer. So the colour of a
pixel of the screen says which pixel of which layer is seen there: the oracle of the viewer's tests. One
pixel, MARK, is white in all layers.
"""

import io
import json
import re
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from urllib.parse import parse_qs, urlsplit

import numpy as np
from PIL import Image

WIDTH, HEIGHT, LEVELS, TILE = 3000, 2000, 4, 512
MARK = (1000, 1500)
BLUE = {
    "fused": 0,
    "frame-0": 60,
    "frame-1": 120,
    "frame-2": 180,
    "labels": 240,
    "depth": 210,
    "retouched": 30,
}
POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; style-src 'self'; script-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
PAGE = b"""<!doctype html><html lang="en"><head><title>Viewer</title>
<link rel="stylesheet" href="/static/css/viewer.css"><link rel="stylesheet" href="/pretended.css">
<script src="/static/vendor/openseadragon.min.js"></script><script type="module" src="/pretended.js"></script>
</head><body><main><h1>Viewer</h1><div id="viewer"></div><section id="inspect" aria-label="Look"></section>
<section id="relief" aria-label="Relief"></section></main></body></html>"""
STYLE = b"body { margin: 8px; font: 16px sans-serif } #viewer { height: 640px }"
SCRIPT = b"""
import { createViewer } from "/static/js/viewer.js";
import { mount as mountInspect } from "/static/js/inspect.js";
import { mount as mountRelief } from "/static/js/relief.js";
const state = { jobs: await (await fetch("/pretended.json")).json() };
const listeners = new Set();
const app = { jobs: state.jobs, state: { get: () => state, on: (fn) => listeners.add(fn) } };
app.announced = [];
app.announce = (text) => app.announced.push(text);
app.changed = () => listeners.forEach((fn) => fn(state));
app.viewer = createViewer(document.getElementById("viewer"), app);
mountInspect(document.getElementById("inspect"), app);
mountRelief(document.getElementById("relief"), app);
app.viewer.show(state.jobs[0], "fused");
window.app = app;
"""


def job(name: str = "a", layers: tuple[str, ...] = ("labels", "depth", "retouched")) -> dict:
    """Return a job of three frames that is done, as the server describes it."""
    names = ["near.tif", "middle.tif", "far.tif"]
    result = {
        "width": WIDTH,
        "height": HEIGHT,
        "n_frames": len(names),
        "names": names,
        "dtype": "uint8",
        "levels": LEVELS,
        "tile": TILE,
        "layers": ["fused", *layers],
        "seconds": 1.0,
        "report": {},
    }
    return {
        "id": name,
        "stack": "s",
        "kind": "fuse",
        "name": f"job {name}",
        "state": "done",
        "options": {"method": "coupled"},
        "ended": "2026-01-01",
        "result": result,
        "retouch": None,
    }


def picture(layer: str, rows: np.ndarray, cols: np.ndarray) -> bytes:
    """Encode the pixels of a layer at rows and cols of the full picture."""
    pixels = np.empty((len(rows), len(cols), 3), np.uint8)
    pixels[..., 0] = cols * 250 // WIDTH
    pixels[..., 1] = (rows * 250 // HEIGHT)[:, None]
    pixels[..., 2] = BLUE.get(layer, 90)
    pixels[np.ix_(rows == MARK[0], cols == MARK[1])] = 255
    encoded = io.BytesIO()
    Image.fromarray(pixels).save(encoded, "png", compress_level=1)
    return encoded.getvalue()


def tile(layer: str, level: int, col: int, row: int) -> bytes:
    """Encode a tile: every 2**level-th pixel."""

    def side(index: int, length: int) -> np.ndarray:
        size = -(-length // 2**level)
        return np.arange(index * TILE, min((index + 1) * TILE, size)) * 2**level

    return picture(layer, side(row, HEIGHT), side(col, WIDTH))


def place(row: int, col: int) -> dict:
    """Describe a place; the middle frame is the sharpest."""
    frames = [
        {"name": name, "weight": weight, "sharpness": sharpness}
        for name, weight, sharpness in zip(
            ["near.tif", "middle.tif", "far.tif"], [0.25, 0.75, 0.0], [0.4, 1.0, 0.1], strict=True
        )
    ]
    told = {"label": 1, "depth": 1.25, "confidence": 0.8, "never_in_focus": False}
    return {"row": row, "col": col, **told, "frames": frames}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the name that http.server asks for
        address = urlsplit(self.path)
        headers, body = self._answer(address.path, {k: v[0] for k, v in parse_qs(address.query).items()})
        self.send_response(200 if body else 404)
        for name, value in {"Content-Security-Policy": POLICY, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, path: str, query: dict[str, str]) -> tuple[dict[str, str], bytes]:
        own = {
            "/": ("text/html", PAGE),
            "/pretended.css": ("text/css", STYLE),
            "/pretended.js": ("text/javascript", SCRIPT),
            "/pretended.json": ("application/json", json.dumps([job("a"), job("b")]).encode()),
        }
        if path in own:
            return {"Content-Type": own[path][0]}, own[path][1]
        if found := re.fullmatch(r"/static/([\w./-]+\.(js|css))", path):
            file = files("panfocus").joinpath("app", "static", found[1])
            kind = {"js": "text/javascript", "css": "text/css"}[found[2]]
            return {"Content-Type": kind}, file.read_bytes() if file.is_file() else b""
        if found := re.fullmatch(r"/api/jobs/\w/tiles/([\w-]+)/(\d+)/(\d+)_(\d+)", path):
            self.server.asked.append((found[1], int(found[2]), query.get("v")))
            return {"Content-Type": "image/png"}, tile(found[1], *map(int, found.groups()[1:]))
        if re.fullmatch(r"/api/jobs/\w/place", path):
            described = place(int(query["row"]), int(query["col"]))
            return {"Content-Type": "application/json"}, json.dumps(described).encode()
        if found := re.fullmatch(r"/api/jobs/\w/crop/([\w-]+)", path):
            self.server.cut.append(found[1])
            around = np.arange(int(query["size"])) - int(query["size"]) // 2
            rows = np.clip(int(query["row"]) + around, 0, HEIGHT - 1)
            cols = np.clip(int(query["col"]) + around, 0, WIDTH - 1)
            return {"Content-Type": "image/png"}, picture(found[1], rows, cols)
        if re.fullmatch(r"/api/jobs/\w/relief", path):
            slope = [
                row + col for row in range(20) for col in range(30)
            ]  # a plane, rising to the lower right
            return {"X-Width": "30", "X-Height": "20"}, struct.pack(f"<{len(slope)}f", *slope)
        return {}, (b"-" if path == "/favicon.ico" else b"")

    def log_message(self, *args: object) -> None:
        """Say nothing."""


class PretendServer(ThreadingHTTPServer):
    """The server, which remembers the tiles asked for as (layer, level, version), and the layers of crops."""

    daemon_threads = True
    asked: list[tuple[str, int, str | None]]
    cut: list[str]


@contextmanager
def serving() -> Iterator[PretendServer]:
    """Serve on a free port of this computer."""
    server = PretendServer(("127.0.0.1", 0), _Handler)
    server.asked, server.cut = [], []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
