"""Views of a job, compared with its arrays."""

import io
import socket
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageCms
from starlette.applications import Starlette
from starlette.testclient import TestClient

from panfocus.app import views
from panfocus.app.responses import HANDLERS
from panfocus.app.result_layers import save_display, save_layer
from panfocus.app.server import _open_listener
from panfocus.app.state import PageJob
from panfocus.app.work_folder import Store, now
from panfocus.io.disk_array import ArrayFolder
from panfocus.show.colormap import MASK_COLOURS, ramp
from panfocus.show.pyramid import halve

HEIGHT, WIDTH, N = 1100, 700, 3
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


@pytest.fixture(scope="module")
def arrays():
    """Smooth frames, so that JPEG changes them little, with fine detail in frame 1 at one place."""
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    frames = np.stack(
        [np.dstack([y / HEIGHT, x / WIDTH, np.full_like(x, k / N)]) * 200 + 20 for k in range(N)]
    ).astype(np.uint8)
    frames[1, 300:340, 400:440] ^= (np.indices((40, 40)).sum(axis=0) % 2 * 64).astype(np.uint8)[..., None]
    labels = (x // 300).astype(np.uint8)
    votes = np.zeros((N, HEIGHT, WIDTH), np.int32)
    votes[0], votes[1] = 1, 3
    return {
        "frames": frames,
        "fused": frames[1],
        "labels": labels,
        "depth": np.minimum(x / 300, N - 1).astype(np.float32),
        "confidence": (y / HEIGHT).astype(np.float32),
        "never_in_focus": labels == 2,
        "votes": votes,
    }


def new_job(store):
    about = {"stack": "", "name": "", "options": {}, "command": "", "task": {}}
    with store.jobs.new_folder() as folder:
        store.jobs.save(PageJob(id=folder.name, created=now(), kind="fuse", **about))
    return folder.name


@pytest.fixture(scope="module")
def job(arrays, tmp_path_factory):
    """A server with one complete job and two others."""
    store = Store(tmp_path_factory.mktemp("work"))
    name, bare, deep = (new_job(store) for _ in range(3))
    store.jobs.get(name).result = {"names": ["a.jpg", "b.jpg", "c.jpg"]}
    kept = ArrayFolder(store.jobs.folder(name) / "arrays")
    for layer, values in arrays.items():
        save_layer(kept, layer, values)
    save_display(kept, PROFILE)
    app = Starlette(routes=views.routes, exception_handlers=HANDLERS)
    app.state.app = SimpleNamespace(store=store)
    with TestClient(app) as client:
        yield SimpleNamespace(
            client=client,
            get=lambda path: client.get(f"/api/jobs/{name}/{path}"),
            bare=bare,
            deep=deep,
            folder=store.jobs.folder(name),
        )


def pixels(answer):
    assert answer.status_code == 200, answer.text
    image = Image.open(io.BytesIO(answer.content))
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    return np.asarray(image)


@pytest.mark.parametrize("layer", ["fused", "frame-0", "frame-2"])
@pytest.mark.parametrize(("level", "col", "row"), [(0, 0, 0), (0, 1, 2), (1, 0, 1), (2, 0, 0)])
def test_tiles_of_images_show_the_image(job, arrays, layer, level, col, row):
    image = arrays["fused"] if layer == "fused" else arrays["frames"][int(layer[-1])]
    for _ in range(level):
        image = halve(image, "mean")
    answer = job.get(f"tiles/{layer}/{level}/{col}_{row}")
    assert answer.headers["content-type"] == "image/jpeg"
    expected = image[512 * row : 512 * row + 512, 512 * col : 512 * col + 512].astype(int)
    shown = pixels(answer).astype(int)
    assert shown.shape == expected.shape
    assert np.abs(shown - expected).mean() < 2  # as JPEG has it
    opened = Image.open(io.BytesIO(answer.content))
    assert opened.info["icc_profile"] == PROFILE


def test_tiles_cover_every_level_and_nothing_beyond(job):
    for level, (height, width) in enumerate([(1100, 700), (550, 350), (275, 175)]):
        for row in range(-(-height // 512)):
            for col in range(-(-width // 512)):
                shown = pixels(job.get(f"tiles/labels/{level}/{col}_{row}"))
                assert shown.shape == (min(512, height - 512 * row), min(512, width - 512 * col), 3)
        for beyond in (f"0_{-(-height // 512)}", f"{-(-width // 512)}_0"):
            assert job.get(f"tiles/labels/{level}/{beyond}").status_code == 404
    assert job.get("tiles/labels/3/0_0").status_code == 404


def test_maps_are_shown_exactly(job, arrays):
    corner = slice(512, 1024), slice(512, 700)
    labels = pixels(job.get("tiles/labels/0/1_1"))
    shade = np.array([0, 128, 255])[arrays["labels"][corner]]  # 127.5 is rounded to the even one
    np.testing.assert_array_equal(labels, ramp()[shade])
    marks = pixels(job.get("tiles/never_in_focus/0/1_1"))
    np.testing.assert_array_equal(marks[..., 3], np.where(arrays["never_in_focus"][corner], 255, 0))
    np.testing.assert_array_equal(marks[arrays["never_in_focus"][corner]][0], MASK_COLOURS[1])
    grey = pixels(job.get("tiles/confidence/0/1_1"))
    np.testing.assert_array_equal(grey, np.rint(255 * arrays["confidence"][corner]))
    depth = pixels(job.get("tiles/depth/0/0_0"))
    np.testing.assert_array_equal(depth[7, [0, 150, 300]], ramp()[[0, 64, 128]])  # 63.75, 127.5


def test_browsers_cache_tiles_of_a_version(job):
    assert "max-age" in job.get("tiles/fused/2/0_0?v=1").headers["cache-control"]
    assert "cache-control" not in job.get("tiles/fused/2/0_0").headers  # the server's own: no-store


@pytest.mark.parametrize(("row", "col"), [(310, 410), (0, 0), (HEIGHT - 1, WIDTH - 1)])
@pytest.mark.parametrize("size", [16, 33])
def test_a_crop_is_centred_and_repeats_the_edge(job, arrays, row, col, size):
    padded = np.pad(arrays["frames"][1], ((size, size), (size, size), (0, 0)), mode="edge")
    top, left = row + size - size // 2, col + size - size // 2
    shown = pixels(job.get(f"crop/frame-1?row={row}&col={col}&size={size}"))
    np.testing.assert_array_equal(shown, padded[top : top + size, left : left + size])
    assert shown.shape[:2] == (size, size)


@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,), (4,), (5,)])
@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_deep_values_are_shown_as_bright_everywhere(job, channels, dtype):
    """A quarter of the range is in use: 2000 of 2000 is white, 1000 is the middle, in tile and crop alike."""
    kept = ArrayFolder(job.folder.parent / job.deep / "arrays")
    frames = np.full((2, 600, 520, *channels), 2000, dtype)
    frames[:, 300:] = 1000
    save_layer(kept, "frames", frames)
    save_layer(kept, "fused", frames[0])
    save_display(kept, None)
    address = f"/api/jobs/{job.deep}"
    crop = pixels(job.client.get(f"{address}/crop/frame-1?row=300&col=519&size=64"))
    assert crop.shape == ((64, 64, 3) if channels and channels[0] > 2 else (64, 64))
    assert (crop[:32] == 255).all() and (crop[32:] == 128).all()
    tile = pixels(job.client.get(f"{address}/tiles/fused/0/1_0"))
    assert tile.shape == (512, 8, *crop.shape[2:])
    assert abs(int(tile[20].mean()) - 255) <= 1 and abs(int(tile[500].mean()) - 128) <= 1


def test_a_crop_of_a_small_image_has_the_requested_size(job):
    assert pixels(job.get("crop/labels?row=5&col=5&size=512")).shape == (512, 512, 3)


def test_a_place_gives_weight_and_sharpness_of_each_frame(job, arrays):
    place = job.get("place?row=320&col=420").json()
    assert (place["row"], place["col"], place["label"], place["never_in_focus"]) == (320, 420, 1, False)
    assert place["depth"] == pytest.approx(420 / 300) and place["confidence"] == pytest.approx(320 / HEIGHT)
    assert [frame["name"] for frame in place["frames"]] == ["a.jpg", "b.jpg", "c.jpg"]
    assert [frame["weight"] for frame in place["frames"]] == [0.25, 0.75, 0]
    first, second, third = (frame["sharpness"] for frame in place["frames"])
    assert second == 1 and first < 0.01 and third < 0.01  # the checks are in frame 1 alone


def test_a_place_without_maps_gives_null(job, arrays):
    kept = ArrayFolder(job.folder.parent / job.bare / "arrays")
    save_layer(kept, "frames", arrays["frames"][:, :40, :50])
    place = job.client.get(f"/api/jobs/{job.bare}/place?row=39&col=49").json()
    assert all(place[name] is None for name in ("label", "depth", "confidence", "never_in_focus"))
    assert [frame["weight"] for frame in place["frames"]] == [None] * N


@pytest.mark.parametrize(
    ("side", "size"), [(1024, (550, 350)), (550, (550, 350)), (300, (275, 175)), (100, (69, 44))]
)
def test_a_relief_is_the_depth_map_within_the_requested_size(job, arrays, side, size):
    answer = job.get(f"relief?side={side}")
    height, width = int(answer.headers["X-Height"]), int(answer.headers["X-Width"])
    assert (height, width) == size
    grid = np.frombuffer(answer.content, "<f4").reshape(height, width)
    depth = arrays["depth"]
    while depth.shape != size:
        depth = halve(depth, "mean")
    np.testing.assert_array_equal(grid, depth)


def test_the_live_map_is_sent(job):
    assert job.get("live.png").status_code == 404
    (job.folder / "live.png").write_bytes(b"a picture")
    assert job.get("live.png?v=3").content == b"a picture"


@pytest.mark.parametrize(
    ("path", "status", "facts"),
    [
        ("tiles/retouched/0/0_0", 404, {"layer": "retouched"}),
        ("tiles/frame-3/0/0_0", 404, {"layer": "frames", "got": 3}),
        ("tiles/frames/0/0_0", 404, {"layer": "frames"}),
        ("tiles/votes/0/0_0", 404, {"layer": "votes"}),
        ("tiles/..%2F..%2Ftoken/0/0_0", 404, {}),
        ("tiles/fused/9/0_0", 404, {"layer": "fused", "level": 9}),
        ("tiles/fused/0/9_9", 404, {"level": 0, "got": "9_9"}),
        ("tiles/fused/x/0_0", 404, {"got": "x"}),
        ("tiles/fused/0/1", 404, {"got": "1"}),
        ("tiles/fused/0/-1_0", 404, {"got": "-1_0"}),
        ("place?row=1100&col=0", 400, {"setting": "row", "got": "1100"}),
        ("place?row=1.5&col=0", 400, {"setting": "row", "got": "1.5"}),
        ("place?row=0", 400, {"setting": "col", "got": ""}),
        ("crop/fused?row=0&col=0&size=8", 400, {"setting": "size", "got": "8"}),
        ("crop/fused?row=0&col=-1&size=20", 400, {"setting": "col", "got": "-1"}),
        ("relief?side=100000", 400, {"setting": "side", "got": "100000"}),
    ],
)
def test_invalid_requests_are_refused_in_one_line(job, path, status, facts):
    answer = job.get(path)
    assert (answer.status_code, answer.json()["facts"]) == (status, facts)
    assert "\n" not in answer.text


def test_missing_and_unfinished_jobs_are_not_found(job):
    for address in (
        f"/api/jobs/{job.bare}/tiles/fused/0/0_0",
        "/api/jobs/0000000000000000/place?row=0&col=0",
    ):
        answer = job.client.get(address)
        assert answer.status_code == 404 and answer.json()["error"]


def test_concurrent_requests_give_the_same_tiles(job):
    paths = [
        f"tiles/{layer}/0/{col}_{row}" for layer in ("fused", "labels") for col in (0, 1) for row in (0, 1, 2)
    ]
    alone = [job.get(path).content for path in paths]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda path: job.get(path).content, paths))
    assert together == alone


def test_the_listener_names_its_protocol():
    """Only then asyncio disables Nagle's algorithm, which delays tiles by 40 ms."""
    with _open_listener(0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
