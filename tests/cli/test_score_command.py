import json
import sys

import numpy as np
import pytest
import tifffile

from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.metrics import matlab_gray, score


@pytest.fixture
def pictures(folder, scene):
    """The frames a.png and b.png, a fused image and a reference."""
    reference = np.where(np.arange(33)[:, None] < 16, scene[0], scene[1])
    write_image("reference.png", reference)
    write_image("fused.png", np.rint(scene.mean(axis=0)).astype(np.uint8))
    return folder


def expected(*, reference=True, crop=0):
    inner = slice(crop, -crop or None)
    pictures = {name: read_image(f"{name}.png")[inner, inner] for name in ("a", "b", "fused", "reference")}
    planes = {name: matlab_gray(picture) for name, picture in pictures.items()}
    against = {"reference": planes["reference"], "colours": (pictures["reference"], pictures["fused"])}
    return score([planes["a"], planes["b"]], planes["fused"], **(against if reference else {}))


def test_json_is_one_flat_object(pictures, run):
    ran = run("score", "fused.png", "a.png", "b.png", "--reference", "reference.png", "--json")
    assert (ran.code, ran.err) == (0, "")
    values = json.loads(ran.out)
    assert values == expected()
    assert {"NMI", "QABF", "SSIM", "MSE", "PSNR", "PSNR_RGB", "SSIM_AF", "MSE_BF"} <= set(values)


def test_scores_without_a_reference(pictures, run):
    values = json.loads(run("score", "fused.png", "a.png", "b.png", "--json").out)
    assert values == expected(reference=False)
    assert "PSNR" not in values


def test_colour_psnr_needs_colour_images(pictures, run, fails):
    for name in ("a", "b", "fused", "reference"):
        write_image(f"{name}-grey.png", matlab_gray(read_image(f"{name}.png")))
    grey = ("score", "fused-grey.png", "a-grey.png", "b-grey.png", "--reference", "reference-grey.png")
    values = json.loads(run(*grey, "--json").out)
    assert "PSNR" in values
    assert "PSNR_RGB" not in values
    fails(*grey, "--metrics", "PSNR_RGB", code=2)


def test_table_has_value_direction_and_meaning(pictures, run):
    out = run("score", "fused.png", "a.png", "b.png", "--reference", "reference.png").out
    (line,) = (line for line in out.splitlines() if line.startswith("MSE "))
    assert f"{expected()['MSE']:.6g}" in line
    assert "smaller is better" in line
    assert out.splitlines()[0].endswith("a.png, b.png")
    assert "rgb2gray" in out.splitlines()[-1]


def test_on_a_terminal_the_table_is_ruled(pictures, run, monkeypatch):
    plain = run("score", "fused.png", "a.png", "b.png").out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ruled = run("score", "fused.png", "a.png", "b.png").out
    assert "│" in ruled
    assert "│" not in plain


def test_metrics_and_crop(pictures, run):
    ran = run("score", "fused.png", "a.png", "b.png", "--metrics", "QABF,MSE_AF", "--crop", "3", "--json")
    values = expected(crop=3)
    assert json.loads(ran.out) == {key: values[key] for key in ("QABF", "MSE_AF")}


def test_an_infinite_score_is_null(pictures, run):
    arguments = (
        "score",
        "reference.png",
        "a.png",
        "b.png",
        "--reference",
        "reference.png",
        "--metrics",
        "PSNR",
    )
    assert json.loads(run(*arguments, "--json").out) == {"PSNR": None}
    assert "PSNR  inf" in run(*arguments).out


@pytest.mark.parametrize(("factor", "dtype"), [(16, np.uint16), (1, np.float32)], ids=["12 bits", "float"])
def test_data_range_is_the_value_of_white(pictures, run, factor, dtype):
    for name in ("a", "b", "fused"):
        grey = matlab_gray(read_image(f"{name}.png"))
        write_image(f"{name}-grey.png", grey)
        write_image(f"{name}.tif", grey.astype(dtype) * dtype(factor))
    eight = run("score", "fused-grey.png", "a-grey.png", "b-grey.png", "--json").out
    white = str(255 * factor)
    other = run("score", "fused.tif", "a.tif", "b.tif", "--json", "--data-range", white).out
    assert json.loads(other) == pytest.approx(json.loads(eight), rel=1e-5)


def test_float_frames_out_of_range_are_rejected(pictures, run, fails, scene):
    for name, frame in zip(("a", "b"), scene, strict=True):
        write_image(f"{name}.tif", frame.astype(np.float32) / 255)
        write_image(f"{name}-wide.tif", frame.astype(np.float32))
    # A result may overshoot, by up to half of white.
    write_image("fused.tif", 1.4 * scene[0].astype(np.float32) / 255)
    assert run("score", "fused.tif", "a.tif", "b.tif").code == 0
    for arguments in (["fused.tif", "a-wide.tif", "b-wide.tif"], ["a-wide.tif", "a.tif", "b.tif"]):
        fails("score", *arguments, names=["a-wide.tif", "--data-range"])


def test_fused_image_is_converted_to_the_bit_depth_of_the_sources(pictures, run, scene):
    for name, frame in zip(("a", "b"), scene, strict=True):
        write_image(f"{name}-deep.png", frame.astype(np.uint16) * 257)
    ran = run("score", "fused.png", "a-deep.png", "b-deep.png", "--metrics", "NMI")
    assert any("fused.png" in line and "uint8" in line for line in ran.out.splitlines())
    back = run("score", "a-deep.png", "a.png", "b.png", "--metrics", "NMI")
    assert any("a-deep.png" in line and "uint16" in line for line in back.out.splitlines())


def test_sources_may_be_a_pattern_in_another_colour_model(pictures, run):
    write_image("grey.png", matlab_gray(read_image("fused.png")))
    ran = run("score", "grey.png", "[ab].png", "--json")
    assert json.loads(ran.out) == expected(reference=False)


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        (["fused.png"], 2, ["SOURCE"]),
        (["fused.png", "a.png"], 2, ["a.png"]),
        (["fused.png", "a.png", "none.png"], 1, ["none.png"]),
        (["fused.png", "a.png", "small.png"], 1, ["small.png", "33 x 30", "a.png", "33 x 40"]),
        (["fused.png", "a.png", "b.png", "--reference", "deep.png"], 1, ["deep.png", "uint16"]),
        (["fused.png", "a.png", "b.png", "--metrics", "NMI,BEAUTY"], 2, ["BEAUTY", "QABF"]),
        (["fused.png", "a.png", "b.png", "--metrics", "NMI,NMI"], 2, ["--metrics", "NMI"]),
        (["fused.png", "a.png", "b.png", "--crop", "20"], 2, ["20", "33 x 40"]),
        (["pages.tif", "a.png", "b.png"], 1, ["pages.tif", "2"]),
        (["fused.png", "a.png", "b.png", "--reference", "pages.tif"], 1, ["pages.tif", "2"]),
        (["fused.png", "a.png", "b.png", "--data-range", "0"], 2, ["--data-range", "0"]),
        (["fused.png", "a.png", "b.png", "--data-range", "9"], 1, ["0", "9"]),
        (["fused.png", "a.png", "b.png", "--metrics", "NMI,PSNR"], 2, ["PSNR"]),
        (["fused.png", "a.png", "b.png", "--metrics", "SSIM_ZF"], 2, ["SSIM_ZF", "26"]),
        (["fused.png", "a.png", "b.png", "--metrics", "VIFF"], 2, ["41"]),
        (["fused.png", "a.png", "b.png", "small.png", "--metrics", "SCD"], 1, ["small.png"]),
        (["fused.png", "a.png", "b.png", "again.png", "--metrics", "SCD"], 2, ["SCD"]),
        (["fused.png", "a.png", "b.png", "--metrics", "SSIM_F"], 2, ["SSIM_AF", "MSE_BF"]),
        (["fused.png", "[abf]*.png"], 2, ["fused.png"]),
        (["a.png", "b.png", "fused.png", "--reference", "b.png"], 2, ["b.png"]),
        (["fused.png", "a.png", "b.png", "--crop", "-1"], 2, ["--crop"]),
    ],
)
def test_wrong_sources_and_options_are_rejected(pictures, fails, scene, arguments, code, names):
    write_image("small.png", scene[0][:30])
    write_image("deep.png", scene[0].astype(np.uint16))
    write_image("again.png", scene[0])
    tifffile.imwrite("pages.tif", scene, photometric="rgb")
    assert fails("score", *arguments, code=code, names=names).out == ""


def test_sources_may_be_a_multi_page_tiff(pictures, run, scene):
    tifffile.imwrite("pages.tif", scene, photometric="rgb")
    ran = run("score", "fused.png", "pages.tif", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == expected(reference=False)
