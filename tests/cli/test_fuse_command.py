import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_errors import assert_error_line
from PIL import Image
from scipy.ndimage import gaussian_filter

from panfocus.dictionary import CoupledDictionary
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image, read_stack
from panfocus.pipeline import fuse, process_stack
from panfocus.stack import Stack


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def dictionary(dictionary_file):
    return ("--dictionary", dictionary_file)


def test_command_writes_the_result_of_the_library(folder, run, scene, dictionary, dictionary_file):
    expected = fuse(scene, dictionary=CoupledDictionary.load(dictionary_file), noise=3.0)
    maps = (
        "--labels",
        "labels.png",
        "--confidence",
        "sure.tif",
        "--depth",
        "depth.tif",
        "--never-in-focus",
        "never.png",
        "--report",
        "report.json",
    )
    ran = run("fuse", "a.png", "b.png", "-o", "fused.png", *maps, "--set", "noise=3.0", *dictionary)
    assert (ran.code, ran.err) == (0, "")
    np.testing.assert_array_equal(read_image("fused.png"), expected.image)
    np.testing.assert_array_equal(read_image("labels.png"), expected.labels)
    np.testing.assert_array_equal(read_image("sure.tif"), expected.confidence)
    np.testing.assert_array_equal(read_image("depth.tif"), expected.depth)
    np.testing.assert_array_equal(read_image("never.png"), 255 * expected.never_in_focus.astype(np.uint8))
    assert json.loads((folder / "report.json").read_text())["settings"]["noise"] == 3


def test_default_output_is_named_after_the_input(lights, run, stack, monkeypatch):
    for name in ("white-fused.png", "white-fused-2.png"):  # never over an existing file
        ran = run("fuse", "white", "--align", "off", "--force")
        assert (ran.code, ran.err) == (0, "")
        assert Path(name).exists()
        assert name in ran.out
    Image.fromarray(stack[0]).save("one.jpeg")
    Image.fromarray(stack[1]).save("two.jpeg")
    assert "one-fused.jpeg" in run("fuse", "one.jpeg", "two.jpeg", "--dry-run").out
    tifffile.imwrite("z.ome.tif", stack[..., 0], ome=True, photometric="minisblack", metadata={"axes": "ZYX"})
    assert "z-fused.ome.tif" in run("fuse", "z.ome.tif", "--dry-run").out
    monkeypatch.chdir("white")
    assert "white-fused.png" in run("fuse", ".", "--dry-run").out
    assert "z0-fused.png" in run("fuse", "z*.png", "--dry-run").out


def test_results_in_the_input_folder_are_not_fused(lights, run, monkeypatch):
    monkeypatch.chdir("white")
    for inputs, name in (
        (["."], "white-fused.png"),
        (["."], "white-fused-2.png"),
        (["z*.png"], "z0-fused.png"),
        (["z*.png"], "z0-fused-2.png"),
    ):
        ran = run("fuse", *inputs, "--align", "off")
        assert ran.code == 0
        assert "5 frames" in ran.out
        assert f"Wrote {name}" in ran.out
    assert_error_line(ran.err, "warning", "z0-fused.png")
    ran = run("fuse", *sorted(Path().glob("z*.png")), "--align", "off", "--dry-run")  # as a shell does
    assert "7 frames" in ran.out
    assert_error_line(ran.err, "warning", "z0-fused.png", "z0-fused-2.png")


def test_summary_has_frames_output_and_alignment(folder, run, dictionary, message):
    out = run("fuse", "a.png", "b.png", "-o", "fused.png", *dictionary).out
    seconds = re.search(r"[\d.]+ s$", out)[0]
    message("cli: summary", out, seconds=seconds)


@pytest.fixture
def blurred_frames(folder):
    """Frames soft-1.png and soft-2.png, whose right half is blurred in both; they are returned."""
    rng = np.random.default_rng(8)
    sharp = sum(s * gaussian_filter(rng.normal(size=(80, 160)), s) for s in (0.6, 1.2, 2.5))
    soft, softer = (gaussian_filter(sharp, s) for s in (2.5, 4))
    left = np.arange(160) < 80
    frames = [128 + 60 * np.where(left, *pair) for pair in ((sharp, soft), (soft, softer))]
    frames = np.clip(np.rint(frames), 0, 255).astype(np.uint8)
    for i, frame in enumerate(frames, start=1):
        write_image(f"soft-{i}.png", frame)
    return frames


def test_never_in_focus_mask_is_written(blurred_frames, run):
    ran = run("fuse", "soft-1.png", "soft-2.png", "-o", "fused.png", "--never-in-focus", "never.png")
    assert (ran.code, ran.err) == (0, "")
    never = read_image("never.png")
    assert (never.dtype, never.shape, set(np.unique(never))) == (np.uint8, (80, 160), {0, 255})
    np.testing.assert_array_equal(never > 0, fuse(blurred_frames).never_in_focus)
    assert (never > 0)[:, 100:].mean() > 0.9
    assert f"{np.mean(never > 0):.1%}" in ran.out


@pytest.mark.parametrize(("share", "printed"), [(0.0, None), (0.00002, "under 0.1%"), (0.25, "25.0%")])
def test_share_never_in_focus_is_printed_if_above_0(folder, run, dictionary, monkeypatch, share, printed):
    def with_share(*arguments, **options):
        fusion = process_stack(*arguments, **options)
        fusion.result.report["never_in_focus_share"] = share
        return fusion

    monkeypatch.setattr("panfocus.pipeline.process_stack", with_share)
    out = run("fuse", "a.png", "b.png", "-o", "fused.png", *dictionary).out
    assert ("never in focus" in out.lower()) == (printed is not None)
    assert printed is None or printed in out


def test_existing_map_is_overwritten_only_with_force(folder, run, fails, dictionary):
    (folder / "never.png").write_bytes(b"precious")
    arguments = ("fuse", "a.png", "b.png", "-o", "fused.png", "--never-in-focus", "never.png", *dictionary)
    fails(*arguments, names=["never.png"])
    assert (folder / "never.png").read_bytes() == b"precious"
    assert run(*arguments, "--force").code == 0
    assert read_image("never.png").shape == (40, 33)


def test_quiet_prints_nothing(folder, run, dictionary):
    assert run("fuse", ".", "-o", "fused.png", "--quiet", *dictionary) == (0, "", "")
    assert (folder / "fused.png").exists()


def test_folders_patterns_and_files_give_the_same_image(folder, run, dictionary):
    inputs_of = {"files": ["a.png", "b.png"], "folder": ["."], "pattern": ["[ab].png"]}
    (folder / "out").mkdir()
    for kind, inputs in inputs_of.items():
        assert run("fuse", *inputs, "-o", f"out/{kind}.png", *dictionary).code == 0
    assert len({(folder / "out" / f"{kind}.png").read_bytes() for kind in inputs_of}) == 1


def test_exif_is_kept_and_lost_metadata_is_listed(folder, run, scene, dictionary):
    exif = Image.Exif()
    exif[0x010F] = "a camera"
    for name, frame in zip("ab", scene, strict=True):
        Image.fromarray(frame).save(f"{name}.jpg", exif=exif, quality=95, comment=b"a remark")
    ran = run("fuse", "a.jpg", "b.jpg", "-o", "fused.jpg", *dictionary)
    assert "comment" in ran.out
    assert Image.open("fused.jpg").getexif()[0x010F] == "a camera"


def test_jpeg_quality_and_subsampling(folder, run, dictionary):
    (folder / "out").mkdir()
    sizes = {}
    for quality, subsampling, sampling in ((95, "444", (1, 1)), (60, "444", (1, 1)), (95, "420", (2, 2))):
        path = folder / "out" / f"{quality}-{subsampling}.jpg"
        settings = ["--jpeg-quality", quality, "--jpeg-subsampling", subsampling]
        assert run("fuse", "a.png", "b.png", "-o", path, *settings, *dictionary).code == 0
        assert Image.open(path).layer[0][1:3] == sampling
        sizes[path.stem] = path.stat().st_size
    assert sizes["95-444"] > max(sizes["60-444"], sizes["95-420"])


@pytest.mark.parametrize(("options", "step"), [((), 2.5), (("--step", "4um"), 4.0)])
def test_depth_of_a_microscopy_stack_is_in_its_unit(folder, run, scene, options, step):
    """Between the first and the last of two slices there is one step."""
    metadata = {"axes": "ZYX", "PhysicalSizeZ": 2.5, "PhysicalSizeZUnit": "µm"}
    tifffile.imwrite("z.ome.tif", scene[..., 0], ome=True, photometric="minisblack", metadata=metadata)
    assert run("fuse", "z.ome.tif", "-o", "fused.tif", "--depth", "depth.tif", *options).code == 0
    depth = tifffile.imread("depth.tif")
    assert depth.min() == pytest.approx(0)
    assert depth.max() == pytest.approx(step)


def test_channels_are_fused_by_one_decision(folder, run, fails, scene, dictionary):
    """The second channel is the first, doubled: so it is in the result, as one decision is made for both."""
    first = scene[..., 0].astype(np.uint16)
    tifffile.imwrite(
        "z.ome.tif",
        np.stack([first, 2 * first], axis=1),
        ome=True,
        photometric="minisblack",
        metadata={"axes": "ZCYX", "PhysicalSizeX": 0.5},
    )
    assert run("fuse", "z.ome.tif", "-o", "fused.ome.tif", *dictionary).code == 0
    with tifffile.TiffFile("fused.ome.tif") as fused:
        assert 'PhysicalSizeX="0.5"' in fused.ome_metadata
        one, two = fused.asarray().astype(int)
    assert np.abs(two - 2 * one).max() <= 1  # rounded each on its own
    assert run("fuse", "z.ome.tif", "-o", "one.png", "--channel", "2", *dictionary).code == 0
    assert read_image("one.png").shape == first.shape[1:]
    fails("fuse", "z.ome.tif", "-o", "both.png", *dictionary, names=["both.png", "2"])


@pytest.mark.parametrize("suffix", [".tif", ".png"])
def test_16_bit_frames_stay_16_bit_and_keep_their_profile(folder, run, scene, dictionary, suffix):
    deep = scene.astype(np.uint16) * 257
    for name, frame in zip("ab", deep, strict=True):
        write_image(f"{name}.tif", frame, like=Stack(deep, ("a", "b"), icc_profile=b"profile"))
    output = folder / f"fused{suffix}"
    assert run("fuse", "a.tif", "b.tif", "-o", output, *dictionary).code == 0
    assert read_image(output).dtype == np.uint16
    assert read_stack([output, output]).icc_profile == b"profile"


def test_refine_strength_is_printed(folder, run, dictionary):
    ran = run("fuse", ".", "-o", "fused.png", "--refine-strength", "0.1", *dictionary)
    assert ran.code == 0
    assert "strength 0.1" in ran.out


def test_dry_run_prints_the_plan_and_writes_nothing(folder, run, dictionary):
    before = names_in(folder)
    ran = run("fuse", ".", "-o", "fused.png", "--dry-run", *dictionary)
    assert ran.code == 0
    for fact in (
        "2 frames of 33 x 40",
        "uint8",
        "a.png",
        "panfocus",
        "composition=blend",
        "fused.png",
        "MB",
    ):
        assert fact in ran.out
    assert names_in(folder) == before
    assert run("fuse", ".", "-o", "fused.jpg", "--dry-run", *dictionary).code == 0
    write_image("c.png", np.zeros((8, 8), np.uint8))
    assert run("fuse", ".", "-o", "fused.png", "--dry-run", *dictionary).code == 1
    skipping = run("fuse", ".", "-o", "fused.png", "--dry-run", "--skip-bad", *dictionary)
    assert skipping.code == 0
    assert "c.png" in skipping.err  # of another size: that is known beforehand


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_undecodable_file_name_is_printed_escaped(folder, run, dictionary):
    ran = run("fuse", "a.png", "b.png", "-o", "\udcff.png", *dictionary)
    assert (ran.code, ran.err) == (0, "")
    assert r"\udcff.png" in ran.out


def test_report_with_undecodable_dictionary_origin_is_written(folder, run, dictionary_file):
    loaded = CoupledDictionary.load(dictionary_file)
    CoupledDictionary(loaded.levels, origin="\udcff\x1b").save("odd.npz")
    ran = run("fuse", ".", "-o", "fused.png", "--report", "report.json", "--dictionary", "odd.npz")
    assert (ran.code, ran.err) == (0, "")
    assert "\udcff" in json.loads((folder / "report.json").read_text())["settings"]["dictionary"]
    ran = run("fuse", ".", "-o", "other.png", "--dry-run", "--dictionary", "odd.npz")
    assert r"\udcff\x1b" in ran.out


def test_large_dictionary_counts_towards_memory(folder, run):
    atoms = np.zeros((2, 4, 4096), np.float32)
    atoms[:, 0] = 1
    CoupledDictionary(atoms).save("large.npz")
    arguments = ("fuse", ".", "-o", "fused.png", "--align", "off", "--dictionary", "large.npz")
    ran = run(*arguments, "--dry-run")
    assert re.search(r"about 7[01]\d MB", ran.out)  # 440 of the program, 268 of inner products; and tiles
    ran = run(*arguments, "--max-memory", "500MB")
    assert ran.code == 1
    assert re.search(r"7[01]\d MB", ran.err)


def test_shipped_dictionary_is_found_by_name(folder, run, scene):
    assert run("fuse", "a.png", "b.png", "-o", "fused.png", "--dictionary", "levels3").code == 0
    expected = fuse(scene, dictionary=CoupledDictionary.default("levels3"))
    np.testing.assert_array_equal(read_image("fused.png"), expected.image)


def test_other_methods_take_a_dictionary(folder, run, scene, dictionary, dictionary_file):
    assert run("fuse", ".", "-o", "fused.png", "--method", "sr-ksvd", *dictionary).code == 0
    expected = fuse(scene, "sr-ksvd", dictionary=CoupledDictionary.load(dictionary_file))
    np.testing.assert_array_equal(read_image("fused.png"), expected.image)


def test_large_patches_count_towards_memory(folder, run):
    """45 x 45 pixels, 8100 atoms: their inner products are 262 MB."""
    options = ("--dry-run", "--align", "off", "--method", "sr-cm", "--set", "patch_size=45")
    ran = run("fuse", ".", "-o", "fused.png", *options)
    assert re.search(r"about 7[01]\d MB", ran.out)


def test_threads_do_not_change_a_byte(folder, run, dictionary):
    for threads in (1, 2):
        run("fuse", "a.png", "b.png", "-o", f"fused{threads}.png", "--threads", threads, *dictionary)
    assert (folder / "fused1.png").read_bytes() == (folder / "fused2.png").read_bytes()


def test_corrections_are_printed_and_reported(folder, run, rng):
    sharp = 60 + 60 * gaussian_filter(rng.random((64, 80)), 3) + np.zeros((3, 64, 80))
    sharp[1] *= 0.8
    sharp[:, 30, 40] = 250
    for k, frame in enumerate(np.rint(sharp).astype(np.uint8)):
        write_image(folder / f"stack-{k}.png", frame)
    command = ("fuse", *(f"stack-{k}.png" for k in range(3)), "--report", "report.json", "-o")
    out = run(*command, "corrected.png").out
    assert "25%" in out
    report = json.loads((folder / "report.json").read_text())
    assert report["exposure"]["reference"] == 0
    assert np.squeeze(report["exposure"]["gains"]) == pytest.approx([1, 1.25, 1], abs=0.005)
    assert report["hot_pixels"]["fixed"] == 1
    off = run(*command, "off.png", "--force", "--exposure", "off", "--hot-pixels", "off")
    assert (off.code, "25%" in off.out) == (0, False)
    assert read_image("off.png").max() == 250
    assert "exposure" not in json.loads((folder / "report.json").read_text())
