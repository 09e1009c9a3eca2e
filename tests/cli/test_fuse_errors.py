"""`panfocus fuse` with bad files or options: one line, the right exit code, nothing written."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import gaussian_filter

from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image

A_B = ["a.png", "b.png"]


def cut_in_half(path):
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) // 2])


@pytest.fixture
def bad_files(folder, scene, dictionary_file):
    """The good frames a.png and b.png, and a collection of bad files."""
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


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        pytest.param(["-o", "new.png"], 2, ["INPUT", "panfocus fuse --help"], id="no frame"),
        pytest.param(["a.png", "-o", "new.png"], 2, ["a.png"], id="one frame"),
        pytest.param(["empty", "-o", "new.png"], 1, ["empty"], id="folder without images"),
        pytest.param(["a.png", "none.png", "-o", "new.png"], 1, ["none.png"], id="missing file"),
        pytest.param(
            ["a.png", "smaller.png", "-o", "new.png"],
            1,
            ["smaller.png", "33 x 37", "33 x 40", "a.png"],
            id="sizes differ",
        ),
        pytest.param(["a.png", "grey.png", "-o", "new.png"], 1, ["grey.png"], id="grey with colour"),
        pytest.param(["a.jpg", "text.jpg", "-o", "new.png"], 1, ["text.jpg"], id="text named .jpg"),
        pytest.param(["a.jpg", "cut.jpg", "-o", "new.png"], 1, ["cut.jpg"], id="truncated JPEG"),
        pytest.param(["good.tif", "nan.tif", "-o", "new.tif"], 1, ["nan.tif", "NaN"], id="NaN"),
        pytest.param([*A_B, "-o", "existing.png"], 1, ["existing.png", "--force"], id="existing output"),
        pytest.param([*A_B, "-o", "new.xyz"], 2, ["new.xyz", ".png"], id="unknown suffix"),
        pytest.param([*A_B, "-o", "none/new.png"], 1, ["none"], id="missing folder"),
        pytest.param([*A_B, "-o", "loop.png", "--force"], 1, ["loop.png"], id="link in a loop"),
        pytest.param([*A_B, "-o", f"{'x' * 300}.png"], 1, ["x.png"], id="name too long"),
        pytest.param(["a.png", "pipe.png", "-o", "new.png"], 1, ["pipe.png"], id="pipe as input"),
        pytest.param([*A_B, "-o", "pipe.png", "--force"], 1, ["pipe.png"], id="pipe as output"),
        pytest.param([*A_B, "-o", "/proc/new.png"], 1, ["/proc"], id="unwritable folder"),
        pytest.param(["good.tif", "good.tif", "-o", "new.png"], 1, ["new.png", ".tif"], id="float to PNG"),
        pytest.param(
            [*A_B, "-o", "new.png", "--dictionary", "cut.npz"], 1, ["cut.npz"], id="truncated dictionary"
        ),
        pytest.param(
            [*A_B, "-o", "new.png", "--dictionary", "pickle.npz"], 1, ["pickle.npz"], id="pickled dictionary"
        ),
        pytest.param(
            ["tiny1.png", "tiny2.png", "-o", "new.png", "--method", "coupled"],
            1,
            ["8 x 8", "5"],
            id="image smaller than a patch",
        ),
    ],
)
def test_bad_files_are_rejected(bad_files, fails, dictionary_file, arguments, code, names):
    if "/proc/new.png" in arguments and not Path("/proc").is_dir():
        pytest.skip("no /proc, where even root creates no file")
    if "--dictionary" not in arguments:
        arguments = [*arguments, "--dictionary", dictionary_file]
    fails("fuse", *arguments, code=code, names=names)
    assert Path("existing.png").read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        (["--align", "rigid"], 2, ["--align", "rigid", "shift"]),
        (["--borders", "black"], 2, ["--borders", "black", "full", "crop"]),
        (["--exposure", "some"], 2, ["--exposure", "some"]),
        (["--hot-pixels", "some"], 2, ["--hot-pixels", "some"]),
        (["--jpeg-subsampling", "411"], 2, ["--jpeg-subsampling", "411", "422"]),
        (["--bits", "12"], 2, ["--bits", "12"]),
        (["--reference", "c.png"], 2, ["--reference", "c.png"]),
        (["--method", "magic"], 2, ["magic", "coupled"]),
        (["--method", ""], 2, []),
        (["--set", "w"], 2, ["NAME=VALUE", "w"]),
        (["--set", "noise=high"], 2, ["noise", "high"]),
        (["--set", "omega=1"], 2, ["omega"]),
        (["--set", "noise=99"], 2, ["noise", "99"]),
        (["--set", "noise=1", "--set", "noise=2"], 2, ["noise"]),
        (["--set", "dictionary=d.npz"], 2, ["dictionary"]),
        (["--refine-strength", "-1"], 2, ["--refine-strength", "-1"]),
        (["--refine-strength", "nan"], 2, ["--refine-strength", "nan"]),
        (["--threads", "0"], 2, ["--threads"]),
        (["--max-memory", "much"], 2, ["--max-memory", "much", "2GB"]),
        (["--max-memory", ""], 2, ["--max-memory", "2GB"]),
        (["--max-memory", "100MB"], 1, ["100 MB"]),
        (["--max-memory", "0"], 1, ["--max-memory"]),
        (["--labels", "labels.jpg"], 2, ["labels.jpg", ".png"]),
        (["--confidence", "sure.jpg"], 2, ["sure.jpg", ".tif"]),
        (["--depth", "depth.jpg"], 2, ["depth.jpg", ".tif"]),
        (["--depth-colour", "depth.tif"], 2, ["depth.tif", ".png"]),
        (["--never-in-focus", "never.tif"], 2, ["never.tif", ".png"]),
        (["--sweep", "s.mp4"], 2, ["s.mp4", ".webp"]),
        (["--report", "report.txt"], 2, ["report.txt", ".json"]),
        (["--labels", "fused.png"], 2, ["fused.png"]),
        (["--labels", "map.png", "--never-in-focus", "map.png"], 2, ["map.png"]),
        (["--labels", "a.png", "--force"], 1, ["a.png"]),
        (["--report", "nowhere/report.json"], 1, ["nowhere"]),
        (["--depth", "d.tif", "--method", "coupled"], 2, ["coupled", "--depth"]),
        (["--never-in-focus", "n.png", "--method", "coupled"], 2, ["coupled", "--never-in-focus"]),
        (["--sweep", "s.gif", "--method", "coupled"], 2, ["coupled", "--sweep"]),
        (["--dictionary", "none.npz"], 1, ["none.npz"]),
        (["--dictionary", "levels9"], 2, ["levels9", "levels3", ".npz"]),
        (["--dictionary", "ksvd"], 2, ["panfocus"]),
        (["--method", "sr-cm"], 2, ["dictionary", "sr-cm"]),
        (["--step", "5", "--depth", "d.tif"], 2, ["--step", "5um"]),
        (["--channel", "2"], 2, ["--channel", "a.png"]),
        (["--time", "1"], 2, ["--time", "a.png"]),
        ([""], 2, []),
        (["--scheduler", "tcp://127.0.0.1:1"], 2, ["--scheduler"]),
        (["--nonsense"], 2, ["--nonsense"]),
    ],
)
def test_wrong_options_are_rejected(folder, fails, dictionary_file, arguments, code, names):
    options = () if "coupled" in arguments else ("--dictionary", dictionary_file)
    fails("fuse", *A_B, "-o", "fused.png", *options, *arguments, code=code, names=names)


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        (["--apply-to", "red"], 2, ["--apply-to", "--apply-output"]),
        (["--apply-output", "red.png"], 2, ["--apply-to", "--apply-output"]),
        (["--apply-to", "none", "--apply-output", "r.png"], 1, ["none"]),
        (["--apply-to", "few", "--apply-output", "r.png"], 1, ["few", "2", "5"]),
        (["--apply-to", "red", "--apply-output", "r.jpg"], 1, ["r.jpg", "16"]),
        (["--apply-to", "red", "--apply-output", "red/z1.png", "--force"], 1, ["red/z1.png"]),
        (["--apply-to", "red", "--apply-output", "fused.png"], 2, ["fused.png"]),
        (["--apply-to", "red", "--apply-output", "r.png", "--refine"], 2, ["--apply-to", "--refine"]),
        (["--apply-to", "red", "--apply-output", "r.png", "--method", "dwt"], 2, ["--apply-to"]),
        (["--slabs", "3"], 2, ["--slabs", "SIZE:OVERLAP"]),
        (["--slabs", "3:3"], 2, ["2"]),
        (["--slabs", "5:1"], 2, ["5"]),
        (["--slabs", "3:1", "--confidence", "c.png"], 2, ["--slabs", "--confidence"]),
        (["--save-steps", "white"], 1, ["white/z0.png", "--save-steps"]),
        (["--save-steps", "white", "--force"], 1, ["white/z0.png", "--save-steps"]),
        (["--save-steps", "few/..", "--force"], 1, ["fused.png", "few/..", "--save-steps"]),
        (["--save-steps", "few"], 1, ["few", "--force"]),
        (["--save-steps", "white/z0.png/steps"], 1, ["white/z0.png/steps"]),
    ],
)
def test_wrong_combinations_are_rejected(lights, fails, stack, arguments, code, names):
    Path("few").mkdir()
    for k in range(2):
        write_image(f"few/{k}.png", stack[k])
    fails("fuse", "white", "-o", "fused.png", *arguments, code=code, names=names)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--step", "5um"],
        ["--jpeg-quality", "50"],
        ["--jpeg-subsampling", "420"],
        ["--borders", "crop", "--align", "off"],
        ["--reference", "1", "--align", "off"],
    ],
)
def test_options_without_effect_are_reported(lights, run, arguments):
    ran = run("fuse", "white", "-o", "fused.png", "--dry-run", *arguments)
    assert ran.code == 0
    assert arguments[0] in ran.out.splitlines()[0]
    assert "--jpeg-quality" not in run("fuse", "white", "-o", "f.jpg", "--jpeg-quality", 50, "--dry-run").out


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cli: no dictionary", ["--method", "coupled", "--dictionary", "text.npz"]),
        ("cli: no strokes", ["--retouch", "empty.json"]),
        ("cli: no JSON", ["--retouch", "text.npz"]),
    ],
)
def test_file_of_another_kind_is_named(folder, fails, message, name, arguments):
    Path("text.npz").write_text("text")
    Path("empty.json").write_text("{}")
    message(name, fails("fuse", "a.png", "b.png", *arguments).err)


def test_small_and_repeated_frames_are_reported(folder, run, message):
    for name in ("a.png", "b.png"):
        write_image(f"tiny-{name}", read_image(name)[:9, :9])
    message("cli: small frames", run("fuse", "tiny-a.png", "tiny-b.png").out.splitlines()[-3])
    ran = run("fuse", "a.png", "a.png", "--align", "off")
    message("cli: same file twice", next(line for line in ran.out.splitlines() if "same" in line))


def test_folder_without_permission_is_named(folder, fails, monkeypatch):
    Path("closed").mkdir()
    is_file = Path.is_file

    def refuse(path):  # an administrator may read everything
        if path.parent.name == "closed":
            raise PermissionError(13, os.strerror(13), str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refuse)
    ran = fails("fuse", "closed", "-o", "fused.png", names=["closed: "])
    assert "zarr" not in ran.err


def test_folder_of_stacks_points_to_batch(lights, fails, message):
    ran = fails("fuse", ".", "-o", "fused.png", code=2, names=["panfocus batch"])
    message("cli: folder of stacks", ran.err)


def test_missing_input_points_to_help(folder, fails, message):
    message("cli: no input", fails("fuse", code=2, names=["panfocus fuse --help"]).err)


def test_unexpected_error_is_one_line_and_a_traceback_only_with_debug(
    folder, fails, run, monkeypatch, message
):
    def fail(*_, **__):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("panfocus.pipeline.process_stack", fail)
    message("cli: unexpected error", fails("fuse", *A_B, "-o", "fused.png", names=["--debug"]).err)
    assert "Traceback" in run("fuse", ".", "-o", "fused.png", "--debug").err


def test_out_of_memory_is_one_line(folder, fails, monkeypatch, message):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("panfocus.pipeline.process_stack", fail)
    message("cli: out of memory", fails("fuse", *A_B, "-o", "fused.png").err)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_leaves_nothing(folder, command, dictionary_file, message):
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
    assert process.returncode == 130
    message("cli: interrupted", err)
    assert sorted(folder.iterdir()) == before
