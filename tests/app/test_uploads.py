"""Uploads: limits, names, and what becomes of a file that cannot be stored."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from panfocus.app.responses import RequestError
from panfocus.app.stacks import MAX_FRAMES
from panfocus.app.state import PageFrame, PageStack
from panfocus.app.uploads import UploadLimits, Uploads, safe_name
from panfocus.errors import FileError


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
    ("there", "promised", "size", "status"),
    [((), 0, 101, 413), ((100, 100), 0, 51, 413), ((100,), 100, 51, 413), ((), 0, -1, 411), ((), 0, "", 411)],
)
def test_a_file_that_exceeds_a_limit_is_refused(there, promised, size, status):
    with pytest.raises(RequestError) as caught:
        uploads(promised=promised)._checked_size(stack_of(*there), request(size))
    assert caught.value.status == status


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
    with pytest.raises(RequestError):
        safe_name(name)


def test_a_full_disk_is_reported_before_a_file_is_received():
    stacks = SimpleNamespace(count_uploads=lambda stack, change: None)
    with pytest.raises(RequestError) as caught:
        asyncio.run(uploads(stacks, free=1000).receive(stack_of(), "a.png", request(10)))
    assert (caught.value.status, caught.value.hint) == (507, "free_space")


def test_announced_files_are_unsent_until_they_are_announced_again():
    stack = stack_of(unsent=["a.png", "b.png"])
    announced = []
    stacks = SimpleNamespace(set_unsent=lambda stack, names: announced.append(names))
    uploads(stacks).announce(stack, ["b.png", "c.png", "c.png"])
    assert announced == [["a.png", "b.png", "c.png", "c.png"]]


@pytest.mark.parametrize("names", [None, "a.png", [1], ["a.png"] * (MAX_FRAMES + 1)], ids=type)
def test_an_invalid_announcement_is_refused(names):
    with pytest.raises(RequestError) as caught:
        uploads().announce(stack_of(), names)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("fault", "unsent"), [(None, ["b.png"]), (FileError("The disk is full."), ["b.png", "a:.png"])]
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
