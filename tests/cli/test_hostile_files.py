"""Hostile files, folders and disks: one line, nothing lost, nothing left behind."""

import ctypes
import io
import os
import resource
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_errors import assert_error_line
from PIL import Image

from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import write_files
from panfocus.io.encode import write_image
from panfocus.io.headers import read_headers
from panfocus.io.input_files import find_inputs
from panfocus.io.png import encode_png
from panfocus.io.read_stack import read_image, read_into

QUICK = ("--method", "dwt", "--align", "off")
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and rights as Linux has them")


@pytest.fixture(autouse=True)
def originals(folder):
    """Check that the two frames in the current folder stay unchanged."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    yield
    assert {path: path.read_bytes() for path in before} == before


def finished(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def assert_one_line(ended, *names):
    code, _, err = ended
    assert code == 1, ended
    assert_error_line(err, *names)


def names():
    return sorted(path.name for path in Path().iterdir())


# Files whose headers lie.


def png_chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def huge_png():
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        png_chunk(*chunk) for chunk in ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    )


def huge_tiff():
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, np.zeros((4, 4, 3), np.uint8), photometric="rgb", compression="deflate")
    data = bytearray(buffer.getvalue())
    n_tags = struct.unpack_from("<H", data, start := struct.unpack_from("<I", data, 4)[0])[0]
    for tag in range(start + 2, start + 2 + 12 * n_tags, 12):
        if struct.unpack_from("<H", data, tag)[0] in (256, 257, 278):  # width, height, rows of a strip
            struct.pack_into("<HII", data, tag + 2, 4, 1, 100_000)
    return bytes(data)


def wordy_tiff():
    """A TIFF whose width is a text; multiplied by the height it would be gigabytes of text."""
    data = huge_tiff()
    for tag, found, instead in (
        (257, struct.pack("<HII", 4, 1, 100_000), struct.pack("<HII", 4, 1, 2**32 - 1)),
        (256, struct.pack("<HII", 4, 1, 100_000), struct.pack("<HI4s", 2, 4, b"abc")),
    ):
        data = data.replace(struct.pack("<H", tag) + found, struct.pack("<H", tag) + instead)
    return data


def tiled_tiff():
    """A TIFF of one tile, 400 million pixels wide."""
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, np.zeros((16, 16), np.uint8), tile=(16, 16), compression="deflate")
    tile = struct.pack("<HHII", 322, 4, 1, 16)
    assert tile in buffer.getvalue()
    return buffer.getvalue().replace(tile, struct.pack("<HHII", 322, 4, 1, 400_000_000))


def jpeg(side):
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((16, 16, 3), np.uint8)).save(buffer, "JPEG")
    data = bytearray(buffer.getvalue())
    struct.pack_into(">HH", data, data.index(b"\xff\xc0") + 5, side, side)
    return bytes(data)


def huge_webp():
    """A WebP of the largest size of the format, 16384 x 16384, without the pixels."""
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((16, 16, 3), np.uint8)).save(buffer, "WEBP", lossless=True)
    data = bytearray(buffer.getvalue())
    place = data.index(b"VP8L") + 9
    data[place : place + 4] = b"\xff\xff\xff\x0f"
    return bytes(data)


def endless_tiff(n_pages, *, circle=False):
    """A chain of empty pages; as a circle, the last page points to the first."""
    pages = [struct.pack("<HI", 0, 8 + 6 * (k + 1)) for k in range(n_pages)]
    pages[-1] = struct.pack("<HI", 0, 8 if circle else 0)
    return b"II*\0" + struct.pack("<I", 8) + b"".join(pages)


BOMBS = {
    "a PNG of 100,000 x 100,000": (huge_png, "100000 x 100000"),
    "a TIFF of 100,000 x 100,000": (huge_tiff, "100000 x 100000"),
    "a TIFF whose tile is 400,000,000 pixels wide": (tiled_tiff, ""),
    "a TIFF whose width is a text": (wordy_tiff, ""),
    "a JPEG of 65,500 x 65,500": (lambda: jpeg(65_500), "65500 x 65500"),
    "a JPEG of 20,000 x 20,000 in 700 bytes": (lambda: jpeg(20_000), ""),
    "a WebP of 16,384 x 16,384 without pixels": (huge_webp, ""),
    "a TIFF of a million pages": (lambda: endless_tiff(10**6), "10,000"),
    "a TIFF whose pages are a circle": (lambda: endless_tiff(50, circle=True), ""),
}


READ = """
import logging, sys, time
from pathlib import Path
from panfocus.errors import PanfocusError
from panfocus.io.read_stack import read_image
logging.disable()
for path in map(Path, sys.argv[1:]):
    began = time.monotonic()
    try:
        read_image(path)
    except PanfocusError as error:
        print(f"{time.monotonic() - began:.3f} {error}")
"""


@linux
def test_bombs_are_rejected_quickly_without_memory():
    for k, (make, _) in enumerate(BOMBS.values()):
        Path(f"{k}.bin").write_bytes(make())
    files = [f"{k}.bin" for k in range(len(BOMBS))]
    read = [sys.executable, "-c", READ, *files]
    printed = subprocess.run(read, capture_output=True, text=True, check=True, preexec_fn=limit_memory).stdout
    for line, file, (name, (_, size)) in zip(printed.splitlines(), files, BOMBS.items(), strict=True):
        seconds, _, message = line.partition(" ")
        assert message.startswith(f"{file}: "), name
        assert size in message, name
        assert float(seconds) < 30, name  # decoding would take minutes


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))  # libraries map most of it without using it


@pytest.mark.parametrize("name", [b"iCCP", b"zTXt", b"iTXt"])
def test_compressed_png_text_is_not_decompressed_without_limit(scene, name):
    """200 MB of zeros in 200 kB: texts are not read; a profile is read up to 16 MB."""
    import tracemalloc

    packed = zlib.compress(bytes(200 << 20))
    content = b"note\0" + (b"\1\0\0\0" if name == b"iTXt" else b"\0") + packed
    data = encode_png(scene[0])
    Path("bomb.png").write_bytes(data[:33] + png_chunk(name, content) + data[33:])
    tracemalloc.start()
    try:
        np.testing.assert_array_equal(read_image("bomb.png"), scene[0])
    except FileError as error:
        assert "bomb.png" in str(error)
        assert name == b"iCCP"
    else:
        assert name != b"iCCP"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 80 << 20


def test_empty_file_is_rejected(run):
    Path("empty.png").write_bytes(b"")
    ran = run("fuse", "a.png", "empty.png", "-o", "new.png", *QUICK)
    assert_one_line(ran, "empty.png")


def test_folder_with_an_image_suffix(run, scene):
    """As an input it is a folder of frames; inside another folder it is skipped."""
    Path("stack/x.jpg").mkdir(parents=True)
    for k, frame in enumerate(scene):
        write_image(f"stack/{k}.png", frame)
    assert run("fuse", "stack", "-o", "new.png", *QUICK).code == 0
    assert_one_line(run("fuse", "a.png", "stack/x.jpg", "-o", "other.png", *QUICK), "stack/x.jpg")


# Files that change while they are read.


@pytest.mark.parametrize(
    "change",
    [
        lambda path: write_image(path, np.zeros((20, 33, 3), np.uint8), force=True),
        lambda path: path.write_bytes(path.read_bytes()[:300]),
        lambda path: path.unlink(),
    ],
    ids=["another size", "truncated", "removed"],
)
def test_file_that_changes_after_its_header_was_read_is_rejected(scene, change):
    write_image("c.png", scene[1])
    headers = read_headers([Path("a.png"), Path("c.png")])
    change(Path("c.png"))
    with pytest.raises((FileError, InputError), match=r"c\.png"):
        read_into(np.empty_like(scene), headers)


# Permissions: root gives up its right to ignore them.


def obey_permissions():
    if os.geteuid() == 0:
        libc, drop = ctypes.CDLL(None, use_errno=True), 24  # PR_CAPBSET_DROP
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if libc.prctl(drop, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "cannot give up rights")


@linux
def test_frame_without_permission_is_rejected(command):
    Path("c.png").write_bytes(Path("b.png").read_bytes())
    Path("c.png").chmod(0)
    ended = finished(command("fuse", "a.png", "c.png", "-o", "new.png", *QUICK, preexec_fn=obey_permissions))
    Path("c.png").chmod(0o600)
    assert_one_line(ended, "c.png")


@linux
def test_read_only_folder_is_rejected_before_any_work(command):
    Path("fixed").mkdir()
    Path("fixed").chmod(0o555)
    options = ("-o", "fixed/new.png", *QUICK)
    ended = finished(command("fuse", "a.png", "b.png", *options, preexec_fn=obey_permissions))
    Path("fixed").chmod(0o755)
    assert_one_line(ended, "fixed/new.png")
    assert ended[1] == ""  # no progress


# Full disks.


@linux
@pytest.mark.parametrize("kind", ["png", "tif"])
def test_file_that_exceeds_the_size_limit_leaves_nothing(command, kind):
    Path("new.old").write_bytes(b"kept")
    write_image(f"new.{kind}", np.zeros((3, 3), np.uint8))
    old, before = Path(f"new.{kind}").read_bytes(), names()

    def limit_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    options = ("-o", f"new.{kind}", "--force", *QUICK)
    ended = finished(command("fuse", "a.png", "b.png", *options, preexec_fn=limit_files))
    assert_one_line(ended, f"new.{kind}")
    assert names() == before
    assert Path(f"new.{kind}").read_bytes() == old


@linux
@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("fuse", "-o", "new.png", "--save-steps", "new/steps", "--report", "new.json", *QUICK), "new.png"),
        (("align", "-o", "new/aligned"), "new/aligned/a.png"),
    ],
    ids=["fuse", "align"],
)
def test_only_the_failed_file_is_named_and_new_folders_are_removed(command, arguments, first):
    name, *options = arguments
    before = names()

    def limit_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    ended = finished(command(name, "a.png", "b.png", *options, preexec_fn=limit_files))
    assert_one_line(ended, first)
    assert names() == before


@linux
@pytest.mark.parametrize("kind", ["png", "tif"])
def test_full_disk_leaves_nothing(command, tmp_path, rng, kind):
    noise = rng.integers(0, 256, (300, 300, 3), np.uint8)
    write_image("c.tif", noise)
    write_image("d.tif", noise // 2)
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], check=False, capture_output=True
    ).returncode:
        pytest.skip("may not mount a small disk")
    try:
        ended = finished(command("fuse", "c.tif", "d.tif", "-o", small / f"new.{kind}", *QUICK))
        left = list(small.iterdir())
    finally:
        subprocess.run(["umount", small], check=True)
    assert_one_line(ended, f"{small}/new.{kind}")
    assert left == []


# Names and links.


@pytest.mark.parametrize(
    "name", ["ф" * 125 + ".png", "x" * 251 + ".png", "日本 語\u202e.png", "-o.png", "[a]*?.png"]
)
def test_unusual_file_names_up_to_255_bytes_work(run, scene, name):
    assert len(os.fsencode(name)) <= 255
    write_image(f"./{name}", scene[1])
    Path("out").mkdir()
    ran = run("fuse", "a.png", f"./{name}", "-o", f"out/{name}", *QUICK)
    assert (ran.code, ran.err) == (0, "")
    assert [path.name for path in Path("out").iterdir()] == [name]
    assert read_image(f"out/{name}").shape == scene[0].shape


def test_frames_may_be_links_but_an_output_may_not_be_a_link_to_one(run):
    Path("link.png").symlink_to("b.png")
    assert run("fuse", "a.png", "link.png", "-o", "new.png", *QUICK).code == 0
    Path("out.png").symlink_to("a.png")
    for output in ("out.png", "link.png", "b.png"):
        ran = run("fuse", "a.png", "link.png", "-o", output, "--force", *QUICK)
        assert_one_line(ran, output)
    Path("hard.png").hardlink_to("a.png")
    assert_one_line(run("fuse", "a.png", "b.png", "-o", "hard.png", "--force", *QUICK), "hard.png")


def test_broken_and_circular_links_are_rejected(run):
    Path("gone.png").symlink_to("nothing.png")
    Path("loop.png").symlink_to("loop.png")
    Path("here").symlink_to(".")
    assert_one_line(run("fuse", "a.png", "gone.png", "-o", "new.png", *QUICK), "gone.png")
    assert_one_line(run("fuse", "a.png", "loop.png", "-o", "new.png", *QUICK), "loop.png")
    assert_one_line(run("fuse", ".", "-o", "new.png", *QUICK), "gone.png")
    assert_one_line(run("fuse", "a.png", "b.png", "-o", "loop.png", *QUICK), "loop.png")
    left = run("fuse", ".", "-o", "new.png", "--skip-bad", *QUICK)
    assert left.code == 0
    first, second = left.err.splitlines()
    assert "gone.png" in first
    assert "loop.png" in second
    for path in map(Path, ("gone.png", "loop.png", "new.png")):
        path.unlink()
    assert find_inputs(["here"]) == [Path("here/a.png"), Path("here/b.png")]  # once


# Many files.


@linux
def test_ten_thousand_files_need_few_file_handles(command, tmp_path, scene):
    many = tmp_path / "many"
    many.mkdir()
    first = many / "frame0.png"
    write_image(first, scene[0])
    for k in range(1, 10_000):
        os.link(first, many / f"frame{k}.png")

    def limit_handles():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        limit_memory()

    code, out, err = finished(
        command("fuse", many, "-o", "new.png", "--dry-run", *QUICK, preexec_fn=limit_handles)
    )
    assert (code, err) == (0, "")
    assert "10000" in out.splitlines()[0]
    assert [line.strip() for line in out.splitlines()[1:12]] == [
        str(many / f"frame{k}.png") for k in range(11)
    ]


# Leftovers of killed runs; soak/kills.py kills runs.


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_leftovers_of_dead_runs_are_removed_but_files_of_running_ones_stay():
    def write_slowly(file):
        file.write(b"first half")
        (mine,) = Path().glob(".panfocus-*")
        stranger = Path(".panfocus-00000000-of-another-machine")
        dead = mine.with_name(mine.name[: -len("0123456789abcdef")] + "f" * 16)
        stranger.write_bytes(b"")
        dead.write_bytes(b"half")
        write_files({Path("other.txt"): b"other"})
        assert mine.exists()
        assert stranger.exists()
        assert not dead.exists()
        file.write(b", second half")

    write_files({Path("slow.txt"): write_slowly})
    assert Path("slow.txt").read_text() == "first half, second half"
    assert Path("other.txt").exists()
