"""Uploads: limits, names, and what becomes of a file that cannot be stored."""

import asyncio
import errno
import os
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from starlette.requests import ClientDisconnect

from panfocus.app.responses import RequestError
from panfocus.app.stacks import MAX_FRAMES
from panfocus.app.state import PageFrame, PageStack
from panfocus.app.uploads import UploadLimits, Uploads, _give_name, safe_name
from panfocus.errors import FileError, PanfocusError


def stack_of(*sizes, unsent=()):
    frames = [PageFrame(key=k, name=f"{k}.png", path=None, bytes=size) for k, size in enumerate(sizes)]
    return PageStack(id="s", created=0.0, name="s", frames=frames, unsent=list(unsent))


def uploads(stacks=None, *, promised=0, free=1 << 40):
    made = Uploads(
        SimpleNamespace(free_space=lambda: free), stacks, UploadLimits(file_bytes=100, stack_bytes=250)
    )
    made._promised["s"] = promised
    return made


def request(size):
    return SimpleNamespace(headers={"content-length": str(size)})


def test_a_file_that_fits_is_accepted():
    assert uploads()._checked_size(stack_of(100, 50), request(100)) == 100


@pytest.mark.parametrize(
    ("there", "promised", "size", "status", "facts"),
    [
        ((), 0, 101, 413, {"got": 101, "limit": 100}),
        ((100, 100), 0, 51, 413, {"got": 251, "limit": 250}),
        ((100,), 100, 51, 413, {"got": 251, "limit": 250}),
        ((), 0, -1, 411, {"got": "-1"}),
        ((), 0, "", 411, {"got": ""}),
    ],
)
def test_a_file_that_exceeds_a_limit_is_refused(there, promised, size, status, facts):
    with pytest.raises(RequestError) as caught:
        uploads(promised=promised)._checked_size(stack_of(*there), request(size))
    assert (caught.value.status, caught.value.facts) == (status, facts)


@pytest.mark.parametrize("name", ["a.png", "Ä 1.TIFF", "a.b.jpg", "漢.webp", "x.CR2", "a'b.jpg"])
def test_plain_image_names_are_kept(name):
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("2024-05-01 12:30:00.jpg", "2024-05-01 12_30_00.jpg"),
        ('what is "this".jpg', "what is _this_.jpg"),
        ("<a>|*?.png", "_a____.png"),
        (":.png", "_.png"),
        ("a:b.png", "a_b.png"),
        ("C:x.jpg", "C_x.jpg"),
        ("C:.png", "C_.png"),
    ],
)
def test_characters_that_some_systems_forbid_are_replaced(name, safe):
    assert safe_name(name) == safe


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "a/b.png", "a\\b.png", "a\n.png", "\ud800.png", ".a.png", "a"),
        *("..\\x.jpg", "../x.jpg", "..:x.jpg", "C:", "a:\\x.jpg", "C:/x.jpg", "a.png:b"),
        "a" * 197 + ".png",
    ],
)
def test_other_names_are_refused(name):
    with pytest.raises(RequestError) as caught:
        safe_name(name)
    assert caught.value.facts == {"file": name}


def test_a_full_disk_is_reported_before_a_file_is_received():
    stacks = SimpleNamespace(count_uploads=lambda stack, change: None)
    with pytest.raises(RequestError) as caught:
        asyncio.run(uploads(stacks, free=1000).receive(stack_of(), "a.png", request(10)))
    assert (caught.value.status, caught.value.hint) == (507, "free_space")
    assert caught.value.facts == {"file": "a.png", "needed": 10}


def test_announced_files_are_unsent_until_they_are_announced_again():
    stack = stack_of(unsent=["a.png", "b.png"])
    announced = []
    stacks = SimpleNamespace(set_unsent=lambda stack, names: announced.append(names))
    uploads(stacks).announce(stack, ["b.png", "c.png", "c.png"])
    assert announced == [["a.png", "b.png", "c.png", "c.png"]]


@pytest.mark.parametrize(
    ("names", "facts"),
    [
        (None, {"setting": "names"}),
        ("a.png", {"setting": "names"}),
        ([1], {"setting": "names"}),
        (["a.png"] * MAX_FRAMES, {"got": MAX_FRAMES + 1, "limit": MAX_FRAMES}),
    ],
    ids=["nothing", "text", "number", "many"],
)
def test_an_invalid_announcement_is_refused(names, facts):
    with pytest.raises(RequestError) as caught:
        uploads().announce(stack_of(100), names)
    assert (caught.value.status, caught.value.facts) == (400, facts)


@pytest.mark.parametrize("links", [True, False])
def test_an_upload_never_replaces_another_file(tmp_path, monkeypatch, links):
    def refuse(*_):
        raise PermissionError

    if not links:  # as on some network disks
        monkeypatch.setattr(os, "link", refuse)
    given = []
    for content in (b"1", b"2"):
        temporary = tmp_path / "temporary"
        temporary.write_bytes(content)
        given.append(_give_name(temporary, "a.png"))
        temporary.unlink(missing_ok=True)
    assert given == ["a.png", "a (2).png"]
    assert [(tmp_path / name).read_bytes() for name in given] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ([b"123"], {"file": "a.png", "got": 3, "needed": 5}),
        ([b"123", ClientDisconnect()], {"file": "a.png"}),
        ([OSError(errno.ENOSPC, "No space left")], {"file": "a.png", "problem": "No space left"}),
    ],
    ids=["short", "interrupted", "full disk"],
)
def test_an_incomplete_upload_leaves_nothing(tmp_path, body, facts):
    async def stream():
        for chunk in body:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    stacks = SimpleNamespace(count_uploads=lambda stack, change: None, files_folder=lambda stack: tmp_path)
    sent = request(5)
    sent.stream = stream
    with pytest.raises(PanfocusError) as caught:
        asyncio.run(uploads(stacks).receive(stack_of(), "a.png", sent))
    assert caught.value.facts == facts
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fault", "unsent"), [(None, ["b.png"]), (FileError("Disk full."), ["b.png", "a:.png"])]
)
def test_a_received_file_stays_unsent_only_if_it_cannot_be_saved(tmp_path, fault, unsent):
    stack = stack_of(unsent=["a:.png", "b.png"])

    async def add_upload(stack, name, size):
        assert (name, stack.unsent) == ("a_.png", ["b.png"])  # saved together
        if fault:
            raise fault

    async def body():
        yield b"12345"

    stacks = SimpleNamespace(
        count_uploads=lambda stack, change: None, add_upload=add_upload, files_folder=lambda stack: tmp_path
    )
    sent = request(5)
    sent.stream = body
    with pytest.raises(FileError) if fault else nullcontext():
        asyncio.run(uploads(stacks).receive(stack, "a:.png", sent))
    assert stack.unsent == unsent
