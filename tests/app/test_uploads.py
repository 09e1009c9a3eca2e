"""What is refused of files that are sent, without sending them."""

import asyncio
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from panfocus.app.responses import RequestError
from panfocus.app.uploads import UploadLimits, Uploads, safe_name
from panfocus.errors import FileError


def stack_of(*sizes):
    return {"id": "s", "folder": None, "frames": [{"bytes": size, "path": None} for size in sizes]}


def uploads(promised=0):
    made = Uploads(None, UploadLimits(file_bytes=100, stack_bytes=250))
    made._promised["s"] = promised
    return made


def request(size):
    return SimpleNamespace(headers={"content-length": str(size)})


def test_what_fits_is_taken():
    assert uploads()._checked_size(stack_of(100, 50), request(100)) == 100


@pytest.mark.parametrize(
    ("there", "promised", "size", "status"),
    [((), 0, 101, 413), ((100, 100), 0, 51, 413), ((100,), 100, 51, 413), ((), 0, -1, 411), ((), 0, "", 411)],
)
def test_what_is_too_large_for_a_file_or_a_stack_with_what_is_under_way_is_refused(
    there, promised, size, status
):
    with pytest.raises(RequestError) as caught:
        uploads(promised)._checked_size(stack_of(*there), request(size))
    assert caught.value.status == status


@pytest.mark.parametrize("name", ["a.png", "Ä 1.TIFF", "a.b.jpg", "漢.webp", "x.CR2", "a'b.jpg"])
def test_plain_names_of_images_are_taken(name):
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("name", "kept"),
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
def test_what_is_no_name_on_some_systems_is_replaced_by_what_is_one_on_all(name, kept):
    assert safe_name(name) == kept


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "a/b.png", "a\\b.png", "a\n.png", "\ud800.png", ".a.png", "a"),
        *("..\\x.jpg", "../x.jpg", "..:x.jpg", "C:", "a:\\x.jpg", "C:/x.jpg", "a.png:b"),
        "a" * 197 + ".png",
    ],
)
def test_other_names_are_not(name):
    with pytest.raises(RequestError):
        safe_name(name)


def test_a_full_disk_is_told_before_a_file_is_taken():
    """The room is asked of the system, which a test cannot fill; so it is asked of the part that decides."""
    import asyncio

    class Full:
        def receiving(self, stack, change):
            pass

        def room(self):
            return 1000

    full = Uploads(Full(), UploadLimits())
    with pytest.raises(RequestError) as caught:
        asyncio.run(full.receive(stack_of(), "a.png", request(10)))
    assert caught.value.status == 507


def test_where_the_disk_is_full_it_is_said_what_helps():
    full = SimpleNamespace(room=lambda: 10, receiving=lambda stack, change: None)
    made = Uploads(full, UploadLimits(file_bytes=100, stack_bytes=250))
    with pytest.raises(RequestError, match="no room for it; delete results or stacks") as caught:
        asyncio.run(made.receive(stack_of(), "a.png", request(5)))
    assert caught.value.status == 507


def test_files_that_were_announced_are_missing_until_they_come_or_are_given_up():
    stack = stack_of() | {"unsent": ["a.png", "b.png"]}
    kept = SimpleNamespace(changed=lambda stack, **changes: stack.update(changes))
    made = Uploads(kept, UploadLimits())
    made.announce(stack, ["b.png", "c.png", "c.png"])  # b.png is chosen again
    assert stack["unsent"] == ["a.png", "b.png", "c.png", "c.png"]
    made.give_up(stack)
    assert stack["unsent"] == []


@pytest.mark.parametrize("names", [None, "a.png", [1], ["a.png"] * 2001])
def test_no_other_things_than_names_are_announced_nor_more_than_a_stack_holds(names):
    with pytest.raises(RequestError) as caught:
        Uploads(None, UploadLimits()).announce(stack_of(), names)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("fault", "missing"), [(None, ["b.png"]), (FileError("full disk"), ["b.png", "a:.png"])]
)
def test_a_file_that_has_come_is_missing_no_more_unless_it_cannot_be_kept(tmp_path, fault, missing):
    stack = stack_of() | {"unsent": ["a:.png", "b.png"]}

    async def received(stack, name, size):
        assert (name, stack["unsent"]) == ("a_.png", ["b.png"])  # kept together
        if fault:
            raise fault

    async def body():
        yield b"12345"

    stacks = SimpleNamespace(
        room=lambda: 1 << 40,
        receiving=lambda stack, change: None,
        received=received,
        files_folder=lambda name: tmp_path,
    )
    sent = request(5)
    sent.stream = body
    with pytest.raises(FileError) if fault else nullcontext():
        asyncio.run(Uploads(stacks, UploadLimits()).receive(stack, "a:.png", sent))
    assert stack["unsent"] == missing
