"""Every bad input in a process of its own: one line, the right exit code, nothing left behind."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from panfocus.io.encode import write_image


def cut_in_half(path):
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) // 2])


@pytest.fixture
def bad_files(folder, scene, dictionary_file):
    """The good frames a.png and b.png, and a collection of bad ones beside them."""
    write_image("smaller.png", scene[1][:-3])
    write_image("grey.png", scene[1][..., 0])
    Path("text.jpg").write_text("not an image\n")
    Image.fromarray(scene[0]).save("a.jpg")
    Image.fromarray(scene[1]).save("cut.jpg")
    cut_in_half("cut.jpg")
    write_image("good.tif", np.zeros((20, 20), np.float32))
    write_image("nan.tif", np.full((20, 20), np.nan, np.float32))
    Path("existing.png").write_bytes(b"precious")
    Path("cut.npz").write_bytes(Path(dictionary_file).read_bytes())
    cut_in_half("cut.npz")
    np.savez("pickle.npz", levels=np.array([{}], dtype=object), header=np.zeros(2, np.uint8))
    write_image("tiny1.png", scene[0][:5, :5])
    write_image("tiny2.png", scene[1][:5, :5])
    Path("empty").mkdir()
    Path("loop.png").symlink_to("loop.png")
    os.mkfifo("pipe.png")
    return folder


CASES = {
    "no frame": (["-o", "new.png"], 2, ["INPUT"]),
    "no output": (["a.png", "b.png"], 2, ["--output"]),
    "one frame": (["a.png", "-o", "new.png"], 2, ["two frames", "a.png"]),
    "folder without images": (["empty", "-o", "new.png"], 1, ["empty", "no image"]),
    "missing file": (["a.png", "none.png", "-o", "new.png"], 1, ["none.png", "no such file"]),
    "sizes differ": (
        ["a.png", "smaller.png", "-o", "new.png"],
        1,
        ["smaller.png", "33 x 37", "33 x 40", "a.png"],
    ),
    "grey mixed with colour": (["a.png", "grey.png", "-o", "new.png"], 1, ["grey.png", "grey", "colour"]),
    "text named .jpg": (["a.jpg", "text.jpg", "-o", "new.png"], 1, ["text.jpg", "not a JPEG"]),
    "JPEG cut in half": (["a.jpg", "cut.jpg", "-o", "new.png"], 1, ["cut.jpg", "cut off"]),
    "NaN": (["good.tif", "nan.tif", "-o", "new.tif"], 1, ["nan.tif", "NaN"]),
    "existing output": (["a.png", "b.png", "-o", "existing.png"], 1, ["existing.png", "--force"]),
    "unknown suffix": (["a.png", "b.png", "-o", "new.xyz"], 2, ["new.xyz", ".png"]),
    "missing folder": (["a.png", "b.png", "-o", "none/new.png"], 1, ["none"]),
    "link in a loop": (["a.png", "b.png", "-o", "loop.png", "--force"], 1, ["loop.png", "back to itself"]),
    "endless name": (["a.png", "b.png", "-o", f"{'x' * 300}.png"], 1, ["x.png", "too long"]),
    "pipe as input": (["a.png", "pipe.png", "-o", "new.png"], 1, ["pipe.png", "not a file"]),
    "pipe as output": (["a.png", "b.png", "-o", "pipe.png", "--force"], 1, ["pipe.png", "a pipe"]),
    "unwritable folder": (["a.png", "b.png", "-o", "/proc/new.png"], 1, ["/proc", "cannot write"]),
    "float to PNG": (["good.tif", "good.tif", "-o", "new.png"], 1, ["new.png", ".tif"]),
    "cut dictionary": (
        ["a.png", "b.png", "-o", "new.png", "--dictionary", "cut.npz"],
        1,
        ["cut.npz", "cut off"],
    ),
    "pickle in a dictionary": (
        ["a.png", "b.png", "-o", "new.png", "--dictionary", "pickle.npz"],
        1,
        ["pickle.npz", "pickle"],
    ),
    "noise out of range": (["a.png", "b.png", "-o", "new.png", "--set", "noise=-2"], 2, ["noise must", "-2"]),
    "patch larger than the image": (
        ["tiny1.png", "tiny2.png", "-o", "new.png", "--method", "coupled"],
        1,
        ["8 x 8", "5"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_line(bad_files, command, dictionary_file, name):
    arguments, code, words = CASES[name]
    if "/proc/new.png" in arguments and not Path("/proc").is_dir():
        pytest.skip("no /proc, where even root creates no file")
    if "--dictionary" not in arguments:
        arguments = [*arguments, "--dictionary", dictionary_file]
    before = sorted(bad_files.rglob("*"))
    process = command("fuse", *arguments)
    out, err = process.communicate()
    assert process.returncode == code, err
    assert len(err.splitlines()) == 1
    assert err.startswith("panfocus: ")
    assert all(word in err for word in words), err
    assert "Traceback" not in out + err
    assert sorted(bad_files.rglob("*")) == before
    assert Path("existing.png").read_bytes() == b"precious"


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_half_way_leaves_nothing(folder, command, dictionary_file):
    sharp = gaussian_filter(np.random.default_rng(0).random((1600, 1600)), 0.6)
    write_image("large1.png", np.rint(255 * sharp).astype(np.uint8))
    write_image("large2.png", np.rint(255 * gaussian_filter(sharp, 2)).astype(np.uint8))
    before = sorted(folder.iterdir())
    options = ("--dictionary", dictionary_file, "--align", "off")
    process = command("fuse", "large1.png", "large2.png", "-o", "new.png", *options)
    assert process.stdout.readline() == "fuse ...\n"  # the first blocks are done
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, len(err.splitlines())) == (130, 1)
    assert sorted(folder.iterdir()) == before
