"""Hostile names and invalid requests about jobs are refused in one line."""

import pytest
from app_server import headers_of, raw, wait


@pytest.fixture(scope="module")
def job(server):
    folder = str(server.root / "small")
    stack = server.client.post("/api/stacks", json={"folder": folder}).raise_for_status().json()["id"]
    server.seen(stack)
    wanted = {"stack": stack, "options": {"align": "off"}}
    name = server.client.post("/api/jobs", json=wanted).raise_for_status().json()["id"]
    for _ in wait(120, step=0.2):
        (found,) = [job for job in server.state()["jobs"] if job["id"] == name]
        if found["state"] not in ("queued", "running"):
            break
    assert found["state"] == "done", found["error"]
    return name


HOSTILE = [
    "..%2Fjob.json",
    "%2e%2e%2fjob.json",
    "..",
    "%2Fetc%2Fpasswd",
    "..%5Cjob.json",
    "a%00b",
    "%FF",
    "~",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "path",
    [
        "/api/jobs/{job}/exports/{name}",
        "/api/jobs/{job}/exports/{name}/job.json",
        "/api/jobs/{job}/exports/0123456789abcdef/{name}",
        "/api/jobs/{job}/tiles/{name}/0/0_0",
        "/api/jobs/{job}/crop/{name}?row=1&col=1&size=16",
        "/api/jobs/{name}/live.png",
        "/api/jobs/{job}/tiles/fused/0/{name}",
        "/api/dictionaries/{name}",
        "/api/stacks/{name}/thumbnails/0",
    ],
)
def test_hostile_names_are_refused(server, job, path, name):
    address = path.format(job=job, name=name)
    first, text = raw(server, f"GET {address} HTTP/1.1", *headers_of(server, "Connection: close"))
    assert first.split()[1] in ("400", "403", "404", "405")
    assert "root:" not in text
    assert '"stack"' not in text


@pytest.mark.parametrize(
    "path",
    [
        "tiles/fused/0/9_9",
        "tiles/fused/99/0_0",
        "tiles/fused/-1/0_0",
        f"tiles/fused/{'9' * 5000}/0_0",
        "tiles/frame-9/0/0_0",
        "tiles/frame-99999999999999999999/0/0_0",
        "place?row=-1&col=0",
        "place?row=0&col=1e9",
        "place?row=nan&col=0",
        "place",
        "crop/fused?row=0&col=0&size=100000",
        "relief?side=0",
        "relief?side=x",
        "atoms.png",
        "none",
    ],
)
def test_missing_parts_of_a_job_are_refused(server, job, path):
    answer = server.client.get(f"/api/jobs/{job}/{path}")
    assert 400 <= answer.status_code < 500
    assert answer.json().keys() == {"error", "facts"}
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("POST", "/api/jobs", {}),
        ("POST", "/api/jobs", {"stack": 1}),
        ("POST", "/api/jobs", {"stack": "0000000000000000", "options": {}}),
        ("POST", "/api/jobs", {"learn": []}),
        ("POST", "/api/jobs", {"learn": {"stack": "../..", "name": "../../evil", "regions": []}}),
        ("POST", "/api/jobs/{job}/export", {"format": "exe"}),
        ("POST", "/api/jobs/{job}/export", {"format": "../png", "what": ["image"]}),
        ("POST", "/api/jobs/{job}/export", {"format": "png", "what": ["../image"]}),
        ("PUT", "/api/jobs/{job}/retouch", {"strokes": [{}]}),
        ("PUT", "/api/jobs/{job}/retouch", {"panfocus_retouch": 1, "strokes": "evil"}),
    ],
)
def test_invalid_content_is_refused(server, job, method, path, content):
    answer = server.client.request(method, path.format(job=job), json=content)
    assert 400 <= answer.status_code < 500, answer.text
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "../evil"},
        {"method": 1},
        {"dictionary": "../../evil"},
        {"dictionary": "/etc/passwd"},
        {"reference": "/etc/passwd"},
        {"settings": {"dictionary": "/etc/passwd"}},
        {"settings": {"none": 1}},
        {"outputs": {"image": "/tmp/evil.png"}},
        {"inputs": ["/etc/passwd"]},
        {"apply_to": [["/etc"]]},
        {"max_memory": "much"},
        {"align": "evil"},
    ],
)
def test_invalid_options_are_refused(server, job, options):
    (stack,) = {each["stack"] for each in server.state()["jobs"] if each["id"] == job}
    answer = server.client.post("/api/jobs", json={"stack": stack, "options": options})
    if answer.status_code < 400:  # found when it runs
        name = answer.json()["id"]
        for _ in wait(60):
            (found,) = [each for each in server.state()["jobs"] if each["id"] == name]
            if found["state"] not in ("queued", "running"):
                break
        server.client.delete(f"/api/jobs/{name}").raise_for_status()
        assert found["state"] == "failed"
        assert "\n" not in found["error"]
    else:
        assert answer.status_code < 500, answer.text
        assert "\n" not in answer.json()["error"]
