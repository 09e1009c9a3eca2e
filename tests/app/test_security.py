"""Access control of a running server: tokens, hosts, origins, paths and uploads."""

import asyncio
import json
from urllib.parse import urlsplit

import httpx
import pytest
from app_server import headers_of, raw, tree, wait

from panfocus.app.responses import MAX_JSON_BYTES
from panfocus.app.stacks import MAX_FRAMES
from panfocus.app.work_folder import Store
from panfocus.retouch.strokes import MOST_POINTS, MOST_STROKES, Stroke


@pytest.fixture
def stranger(server):
    """A client without the token."""
    with httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


def new_stack(server):
    return server.client.post("/api/stacks", json={"name": "sent"}).raise_for_status().json()["id"]


@pytest.mark.parametrize("path", ["/", "/api/state", "/api/events", "/static/index.html", "/nothing"])
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Cookie": "panfocus=wrong"}])
def test_without_the_token_every_path_is_closed(stranger, path, headers):
    answer = stranger.get(path, headers=headers)
    assert answer.status_code == 403
    assert "token" in answer.text and answer.text.count("\n") == 1


def test_a_wrong_token_in_the_address_gives_no_cookie(stranger):
    answer = stranger.get("/?token=wrong")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_address_gives_a_cookie_that_opens_the_page_and_takes_the_token_out_of_sight(server, stranger):
    answer = stranger.get(server.address)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    port = urlsplit(server.url).port
    assert cookie.startswith(f"panfocus-{port}=")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
    page = stranger.get("/")
    assert page.status_code == 200
    assert "<html" in page.text


def test_the_address_is_opened_from_a_file_too_by_a_page_that_goes_on_to_ours(server, stranger):
    """Browsers do not send a strict cookie along a redirect that started on another page."""
    from_file = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    answer = stranger.get(server.address, headers=from_file)
    assert answer.status_code == 200
    assert answer.headers["set-cookie"].startswith("panfocus-")
    assert '<meta http-equiv="refresh" content="0; url=/">' in answer.text
    assert server.token not in answer.text
    assert stranger.get("/?token=wrong", headers=from_file).status_code == 403
    assert stranger.get("/", headers=from_file).status_code == 403  # though it has the cookie now


def test_every_answer_has_the_protective_headers(server, stranger):
    for answer in (stranger.get("/"), server.client.get("/"), server.client.get("/api/none")):
        assert answer.headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "[::2]:{port}", ""]
)
def test_another_host_is_refused_even_with_the_token(server, host):
    host = host.format(port=urlsplit(server.url).port)
    answer = server.client.get("/api/state", headers={"Host": host})
    assert answer.status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LocalHost"])
def test_the_names_of_this_computer_are_answered(server, host):
    port = urlsplit(server.url).port
    assert server.client.get("/api/state", headers={"Host": f"{host}:{port}"}).status_code == 200


def test_two_hosts_are_refused(server):
    first, _ = raw(server, "GET /api/state HTTP/1.1", *headers_of(server), "Host: evil.example")
    assert first.split()[1] in ("400", "421")


@pytest.fixture
def page(server, stranger):
    """A client with the cookie, as the browser has it."""
    stranger.get(server.address)
    return stranger


@pytest.mark.parametrize(
    "other", ['prefs={"theme":"dark","n":1}', "a=b c", "weird name=1", "nm=J\xfcrgen", "bare", "="]
)
def test_odd_cookies_of_other_programs_on_this_computer_do_not_lock_the_page_out(server, stranger, other):
    ours = f"panfocus-{urlsplit(server.url).port}={server.token}"
    for cookies in (f"{other}; {ours}", f"{ours}; {other}", f"{other};{ours};{other}"):
        answer = stranger.get("/api/state", headers={"Cookie": cookies.encode("latin-1")})
        assert answer.status_code == 200, cookies
    wrong = f"{other}; x{ours}; {ours[:-1]}".encode("latin-1")
    assert stranger.get("/api/state", headers={"Cookie": wrong}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", None])
def test_a_post_of_another_page_is_refused_though_the_browser_sends_the_cookie(page, server, origin):
    before = [stack["id"] for stack in server.state()["stacks"]]
    headers = {} if origin is None else {"Origin": origin}
    answer = page.post("/api/stacks", json={"name": "evil"}, headers=headers)
    assert answer.status_code == 403
    assert [stack["id"] for stack in server.state()["stacks"]] == before


def test_the_page_itself_may_post(page, server):
    answer = page.post("/api/stacks", json={"name": "own"}, headers={"Origin": server.url})
    assert answer.status_code == 201
    page.delete(f"/api/stacks/{answer.json()['id']}", headers={"Origin": server.url}).raise_for_status()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_of_other_pages_are_refused(page, site):
    assert page.get("/api/state", headers={"Sec-Fetch-Site": site}).status_code == 403


def test_a_script_with_the_token_whose_origin_is_another_page_is_refused(server):
    answer = server.client.post("/api/stacks", json={"name": "x"}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/etc",
        "/etc/passwd",
        "{root}/../outside",
        "{root}/way out",
        "{root}/way out/secret.png",
        "../../..",
        "small",
        "{root}x",
        "{root}/small\0",
        "~",
    ],
)
def test_only_allowed_folders_can_be_listed_and_opened(server, path):
    path = path.format(root=server.root)
    listed = server.client.post("/api/folders", json={"path": path})
    assert listed.status_code in (400, 403)
    for wanted in ({"folder": path}, {"files": [path]}):
        assert server.client.post("/api/stacks", json=wanted).status_code in (400, 403)


def test_a_folder_lists_images_and_folders_in_natural_order_and_no_way_out(server):
    listing = server.client.post("/api/folders", json={}).json()
    assert listing["path"] == str(server.root.resolve())
    assert listing["parent"] is None
    assert "small" in listing["folders"]  # beside those of other tests
    several = server.root / "several"
    for name in ("slice-10", "slice-9", "slice-1"):
        (several / name).mkdir(parents=True)
    listing = server.client.post("/api/folders", json={"path": str(several)}).json()
    assert listing["folders"] == ["slice-1", "slice-9", "slice-10"]
    inside = server.client.post("/api/folders", json={"path": f"{server.root}/small"}).json()
    assert inside["parent"] == str(server.root.resolve())
    assert [file["name"] for file in inside["files"]] == ["frame-1.png", "frame-2.png", "frame-3.png"]


@pytest.mark.parametrize(
    "name",
    [
        "..%2F..%2Fevil.png",
        "%2e%2e%2fevil.png",
        "..%5Cevil.png",
        "%2Ftmp%2Fevil.png",
        "..",
        "%2E%2E",
        ".hidden.png",
        "a%00.png",
        "a%0A.png",
        "C:%5Cevil.png",
        "C:%2Fevil.png",
        "evil.exe",
        "a" * 250 + ".png",
    ],
)
def test_no_file_name_leads_out_of_the_stack(server, name):
    stack = new_stack(server)
    before = tree(server.work.parent)
    # Raw: clients would normalise the path.
    first, _ = raw(
        server,
        f"PUT /api/stacks/{stack}/files/{name} HTTP/1.1",
        *headers_of(server, "Content-Length: 4", "Connection: close"),
        body=b"evil",
    )
    assert first.split()[1] in ("400", "404", "405", "415")
    assert tree(server.work.parent) == before


def test_a_name_with_a_drive_letter_stays_in_the_stack(server):
    stack = new_stack(server)
    good = (server.root / "small" / "frame-1.png").read_bytes()
    answer = server.client.put(f"/api/stacks/{stack}/files/C:evil.png", content=good)
    assert [frame["name"] for frame in answer.raise_for_status().json()["frames"]] == ["C_evil.png"]
    assert [path.name for path in (server.work / "stacks" / stack / "files").iterdir()] == ["C_evil.png"]


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd"])
def test_only_the_pages_own_files_are_served(server, path):
    first, text = raw(server, f"GET {path} HTTP/1.1", *headers_of(server, "Connection: close"))
    assert first.split()[1] == "404"
    assert "Starlette" not in text


def test_missing_stacks_and_thumbnails_are_not_found(server):
    stack = new_stack(server)
    for path in ("/api/stacks/..", f"/api/stacks/{stack}/thumbnails/0", f"/api/stacks/{stack}/thumbnails/-1"):
        assert server.client.get(path).status_code in (404, 405)
    missing = server.client.patch("/api/stacks/0000000000000000", json={"name": "x"})
    assert (missing.status_code, missing.json()["facts"]) == (404, {"id": "0000000000000000"})


@pytest.mark.parametrize(
    "name", ["a" * 300, "a/" * 5000, "small/frame-1.png/a"], ids=["name", "path", "file"]
)
@pytest.mark.parametrize("kind", ["folder", "files"])
def test_an_impossible_path_is_refused_in_one_line(server, kind, name):
    path = f"{server.root}/{name}"
    answer = server.client.post("/api/stacks", json={kind: path if kind == "folder" else [path]})
    assert answer.status_code == 404
    assert answer.json()["facts"] == {"file": path}
    assert len(answer.json()["error"]) < 400


@pytest.mark.parametrize("digits", [300, 5000])
@pytest.mark.parametrize("kind", ["thumbnails", "pictures"])
def test_a_huge_frame_number_is_not_found(server, kind, digits):
    answer = server.client.get(f"/api/stacks/{new_stack(server)}/{kind}/{'9' * digits}")
    assert answer.status_code == 404
    assert len(answer.json()["error"]) < 100


def put(server, stack, *more, body=b"", **how):
    return raw(
        server,
        f"PUT /api/stacks/{stack}/files/a.png HTTP/1.1",
        *headers_of(server, "Connection: close", *more),
        body=body,
        **how,
    )


def test_a_file_over_the_limit_is_refused_before_it_is_sent(server):
    stack = new_stack(server)
    first, text = put(server, stack, "Content-Length: 2000001")
    assert first.split()[1] == "413"
    assert json.loads(text.partition("\r\n\r\n")[2])["facts"] == {"got": 2_000_001, "limit": 2_000_000}
    assert server.stack(stack)["frames"] == []


def test_a_file_without_a_size_is_refused(server):
    stack = new_stack(server)
    first, _ = put(server, stack, "Transfer-Encoding: chunked", body=b"4\r\nevil\r\n0\r\n\r\n")
    assert first.split()[1] == "411"
    both = ("Content-Length: 4", "Transfer-Encoding: chunked")
    first, _ = put(server, stack, *both, body=b"4\r\nevil\r\n0\r\n\r\n")
    assert first.split()[1] == "411"
    assert server.stack(stack)["frames"] == []


def test_data_beyond_the_announced_size_are_not_stored(server):
    stack = new_stack(server)
    put(server, stack, "Content-Length: 4", body=b"evil" + b"x" * 3_000_000)
    assert [frame["bytes"] for frame in server.seen(stack)["frames"]] == [4]
    files = list((server.work / "stacks" / stack / "files").iterdir())
    assert [path.read_bytes() for path in files] == [b"evil"]


def test_an_interrupted_upload_leaves_nothing(server):
    stack = new_stack(server)
    put(server, stack, "Content-Length: 1000000", body=b"x" * 500_000, then_close=True)
    folder = server.work / "stacks" / stack / "files"
    for _ in wait(10):
        if server.stack(stack)["receiving"] == 0 and not list(folder.iterdir()):
            break
    assert list(folder.iterdir()) == []
    assert server.stack(stack)["frames"] == []


def test_malformed_images_are_marked_bad(server):
    stack = new_stack(server)
    good = server.root / "small" / "frame-1.png"
    files = {
        "good.png": good.read_bytes(),
        "cut off.png": good.read_bytes()[:-200],
        "text.png": b"not an image at all",
        "empty.png": b"",
        "bomb.png": good.read_bytes()[:16] + b"\x00\x01\x00\x00" * 2 + good.read_bytes()[24:],
    }
    for name, content in files.items():
        server.client.put(f"/api/stacks/{stack}/files/{name}", content=content).raise_for_status()
    frames = {frame["name"]: frame for frame in server.seen(stack)["frames"]}
    assert frames.pop("good.png")["state"] == "ready"
    for name, frame in frames.items():
        assert frame["state"] == "bad"
        assert frame["error"].startswith(f"{name}: ")
        assert "\n" not in frame["error"]
        assert str(server.work) not in frame["error"]


def test_fifty_files_at_once_all_arrive(server):
    stack = new_stack(server)
    content = (server.root / "small" / "frame-1.png").read_bytes()

    async def send():
        limits = httpx.Limits(max_connections=50)
        async with httpx.AsyncClient(
            base_url=server.url, headers=server.client.headers, limits=limits, timeout=60
        ) as client:
            paths = [f"/api/stacks/{stack}/files/f{number % 25}.png" for number in range(50)]
            return await asyncio.gather(*(client.put(path, content=content) for path in paths))

    assert {answer.status_code for answer in asyncio.run(send())} == {200}
    names = [frame["name"] for frame in server.stack(stack)["frames"]]
    assert sorted(names) == sorted([f"f{n}.png" for n in range(25)] + [f"f{n} (2).png" for n in range(25)])
    folder = server.work / "stacks" / stack / "files"
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)
    assert {path.read_bytes() for path in folder.iterdir()} == {content}
    server.client.delete(f"/api/stacks/{stack}").raise_for_status()
    assert not folder.exists()


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"name": 1}', b"[" * 100_000, b"\xff"])
def test_a_body_that_is_not_an_object_is_refused_in_one_line(server, body):
    answer = server.client.post("/api/stacks", content=body)
    assert answer.status_code == 400
    assert answer.json().keys() == {"error", "facts"}
    assert "\n" not in answer.json()["error"]


def test_a_request_that_is_too_large_is_refused(server):
    answer = server.client.post("/api/stacks", content=b'{"name": "' + b"x" * 60_000_000 + b'"}')
    assert answer.status_code == 413
    assert answer.json()["facts"] == {"got": 60_000_012, "limit": MAX_JSON_BYTES}


def test_the_largest_requests_fit_into_the_limit():
    stroke = Stroke(1999, ((12345.67, 12345.67),), 123.45, hardness=0.55, opacity=0.55, gain=(1.2345,) * 4)
    point = len("[12345.67, 12345.67], ")
    assert MOST_POINTS * point + MOST_STROKES * len(json.dumps(stroke.plain())) < MAX_JSON_BYTES
    longest_path = 4096 + len('"", ')
    assert MAX_FRAMES * longest_path < MAX_JSON_BYTES


def test_only_this_user_can_read_the_work_folder_and_the_token(server):
    assert server.work.stat().st_mode & 0o077 == 0
    assert (server.work / "token").stat().st_mode & 0o077 == 0
    assert (server.work / "token").read_text().strip() == server.token


def test_a_removed_token_is_replaced_at_the_next_start(tmp_path):
    first = Store(tmp_path).token
    assert Store(tmp_path).token == first
    (tmp_path / "token").unlink()
    assert Store(tmp_path).token != first


def test_the_server_is_alive_and_has_written_nothing_outside_its_work_folder(server):
    assert server.process.poll() is None
    assert {path.name for path in server.work.parent.iterdir()} <= {"work", "pictures", "outside"}
    assert sorted(path.name for path in (server.root / "small").iterdir()) == [
        *("frame-1.png", "frame-2.png", "frame-3.png")
    ]
