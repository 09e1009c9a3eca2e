import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image
from scipy.ndimage import gaussian_filter

from panfocus.dictionary import CoupledDictionary
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image, read_stack
from panfocus.methods import DEFAULT_METHOD
from panfocus.pipeline import fuse
from panfocus.stack import Stack


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def dictionary(dictionary_file):
    return ("--dictionary", dictionary_file)


def test_the_command_writes_what_the_library_returns(folder, run, scene, dictionary, dictionary_file):
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


def test_it_says_what_it_did(folder, run, dictionary):
    out = run("fuse", "a.png", "b.png", "-o", "fused.png", *dictionary).out
    for words in ("2 frames of 33 x 40", " s;", "%", "fused.png"):
        assert words in out


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


def test_what_is_never_in_focus_is_written_white_and_said(blurred_frames, run):
    ran = run("fuse", "soft-1.png", "soft-2.png", "-o", "fused.png", "--never-in-focus", "never.png")
    assert (ran.code, ran.err) == (0, "")
    never = read_image("never.png")
    assert (never.dtype, never.shape, set(np.unique(never))) == (np.uint8, (80, 160), {0, 255})
    np.testing.assert_array_equal(never > 0, fuse(blurred_frames).never_in_focus)
    assert (never > 0)[:, 100:].mean() > 0.9
    (line,) = (line for line in ran.out.splitlines() if line.startswith("fused 2 frames"))
    assert line.endswith(f"; never in focus: {np.mean(never > 0):.1%}")
    assert "wrote fused.png, never.png" in ran.out


@pytest.mark.parametrize(("share", "said"), [(0.0, None), (0.00002, "under 0.1%"), (0.25, "25.0%")])
def test_never_in_focus_is_said_when_it_is_more_than_nothing(
    folder, run, dictionary, monkeypatch, share, said
):
    def with_share(*arguments, **options):
        result = fuse(*arguments, **options)
        return replace(result, report=result.report | {"never_in_focus_share": share})

    monkeypatch.setattr("panfocus.pipeline.fuse", with_share)
    out = run("fuse", "a.png", "b.png", "-o", "fused.png", *dictionary).out
    assert ("never in focus" in out) == (said is not None)
    assert said is None or f"; never in focus: {said}\n" in out


def test_a_map_of_what_is_never_in_focus_is_not_written_over(folder, run, dictionary):
    (folder / "never.png").write_bytes(b"precious")
    before = names_in(folder)
    arguments = ("fuse", "a.png", "b.png", "-o", "fused.png", "--never-in-focus", "never.png", *dictionary)
    ran = run(*arguments)
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "never.png exists already" in ran.err
    assert (names_in(folder), (folder / "never.png").read_bytes()) == (before, b"precious")
    assert run(*arguments, "--force").code == 0
    assert read_image("never.png").shape == (40, 33)


def test_quiet_prints_nothing(folder, run, dictionary):
    assert run("fuse", ".", "-o", "fused.png", "--quiet", *dictionary) == (0, "", "")
    assert (folder / "fused.png").exists()


def test_folders_patterns_and_files_mean_the_same(folder, run, dictionary):
    given = {"files": ["a.png", "b.png"], "folder": ["."], "pattern": ["[ab].png"]}
    (folder / "out").mkdir()
    for kind, inputs in given.items():
        assert run("fuse", *inputs, "-o", f"out/{kind}.png", *dictionary).code == 0
    assert len({(folder / "out" / f"{kind}.png").read_bytes() for kind in given}) == 1


def test_metadata_is_carried_over_and_what_is_lost_is_said(folder, run, scene, dictionary):
    exif = Image.Exif()
    exif[0x010F] = "a camera"
    for name, frame in zip("ab", scene, strict=True):
        Image.fromarray(frame).save(f"{name}.jpg", exif=exif, quality=95, comment=b"a remark")
    ran = run("fuse", "a.jpg", "b.jpg", "-o", "fused.jpg", *dictionary)
    assert "Not carried over from the frames: a comment.\n" in ran.out
    assert Image.open("fused.jpg").getexif()[0x010F] == "a camera"


def test_quality_and_subsampling_of_a_jpeg_are_settable(folder, run, dictionary):
    (folder / "out").mkdir()
    sizes = {}
    for quality, subsampling, sampling in ((95, "444", (1, 1)), (60, "444", (1, 1)), (95, "420", (2, 2))):
        path = folder / "out" / f"{quality}-{subsampling}.jpg"
        settings = ["--jpeg-quality", quality, "--jpeg-subsampling", subsampling]
        assert run("fuse", "a.png", "b.png", "-o", path, *settings, *dictionary).code == 0
        assert Image.open(path).layer[0][1:3] == sampling
        sizes[path.stem] = path.stat().st_size
    assert sizes["95-444"] > max(sizes["60-444"], sizes["95-420"])
    ran = run("fuse", "a.png", "b.png", "-o", "c.jpg", "--jpeg-subsampling", "411", *dictionary)
    assert (ran.code, ran.out) == (2, "")
    assert "jpeg_subsampling must be one of 444, 422, 420, got '411'" in ran.err


@pytest.mark.parametrize(("options", "step"), [((), 2.5), (("--step", "4um"), 4.0)])
def test_depth_is_in_the_unit_of_a_microscopes_slices(folder, run, scene, options, step):
    """Between the first and the last of two slices there is one step."""
    metadata = {"axes": "ZYX", "PhysicalSizeZ": 2.5, "PhysicalSizeZUnit": "µm"}
    tifffile.imwrite("z.ome.tif", scene[..., 0], ome=True, photometric="minisblack", metadata=metadata)
    assert run("fuse", "z.ome.tif", "-o", "fused.tif", "--depth", "depth.tif", *options).code == 0
    depth = tifffile.imread("depth.tif")
    assert depth.min() == pytest.approx(0)
    assert depth.max() == pytest.approx(step)


def test_channels_of_a_microscope_are_fused_together(folder, run, scene, dictionary):
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
    refused = run("fuse", "z.ome.tif", "-o", "both.png", *dictionary)
    assert refused.code == 1
    assert "2 channels of a microscope" in refused.err


@pytest.mark.parametrize("suffix", [".tif", ".png"])
def test_16_bit_frames_stay_16_bit_and_keep_their_profile(folder, run, scene, dictionary, suffix):
    deep = scene.astype(np.uint16) * 257
    for name, frame in zip("ab", deep, strict=True):
        write_image(f"{name}.tif", frame, like=Stack(deep, ("a", "b"), icc_profile=b"profile"))
    output = folder / f"fused{suffix}"
    assert run("fuse", "a.tif", "b.tif", "-o", output, *dictionary).code == 0
    assert read_image(output).dtype == np.uint16
    assert read_stack([output, output]).icc_profile == b"profile"


def test_a_strength_refines_and_says_how_much(folder, run, dictionary):
    ran = run("fuse", ".", "-o", "fused.png", "--refine-strength", "0.1", *dictionary)
    assert ran.code == 0
    assert "refined with strength 0.1" in ran.out


def test_a_dry_run_checks_and_describes_and_writes_nothing(folder, run, dictionary):
    before = names_in(folder)
    ran = run("fuse", ".", "-o", "fused.png", "--dry-run", *dictionary)
    assert ran.code == 0
    for words in (
        "2 frames of 33 x 40",
        "uint8",
        "a.png",
        "panfocus",
        "composition=blend",
        "fused.png",
        "MB",
    ):
        assert words in ran.out
    assert names_in(folder) == before
    assert run("fuse", ".", "-o", "fused.jpg", "--dry-run", *dictionary).code == 0
    write_image("c.png", np.zeros((8, 8), np.uint8))
    assert run("fuse", ".", "-o", "fused.png", "--dry-run", *dictionary).code == 1
    assert "(--skip-bad)" not in ran.out
    skipping = run("fuse", ".", "-o", "fused.png", "--dry-run", "--skip-bad", *dictionary)
    assert skipping.code == 0
    assert "c.png" in skipping.err  # of another size: that is known beforehand
    assert "less those that are damaged inside" in skipping.out


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_no_text_is_printed_all_the_same(folder, run, dictionary):
    ran = run("fuse", "a.png", "b.png", "-o", "\udcff.png", *dictionary)
    assert (ran.code, ran.err) == (0, "")
    assert r"\udcff.png" in ran.out


def test_a_report_on_a_dictionary_whose_origin_is_no_text_is_written(folder, run, dictionary_file):
    loaded = CoupledDictionary.load(dictionary_file)
    CoupledDictionary(loaded.levels, origin="\udcff\x1b").save("odd.npz")
    ran = run("fuse", ".", "-o", "fused.png", "--report", "report.json", "--dictionary", "odd.npz")
    assert (ran.code, ran.err) == (0, "")
    assert "\udcff" in json.loads((folder / "report.json").read_text())["settings"]["dictionary"]
    ran = run("fuse", ".", "-o", "other.png", "--dry-run", "--dictionary", "odd.npz")
    assert r"\udcff\x1b" in ran.out


def test_a_large_dictionary_counts_as_memory(folder, run):
    atoms = np.zeros((2, 4, 4096), np.float32)
    atoms[:, 0] = 1
    CoupledDictionary(atoms).save("large.npz")
    arguments = ("fuse", ".", "-o", "fused.png", "--align", "off", "--dictionary", "large.npz")
    ran = run(*arguments, "--dry-run")
    assert re.search(r"about 7[01]\d MB", ran.out)  # 440 of the program, 268 of inner products; and tiles
    ran = run(*arguments, "--max-memory", "500MB")
    assert ran.code == 1
    assert re.search(r"7[01]\d MB", ran.err)


def test_a_shipped_dictionary_is_given_by_its_name(folder, run, scene):
    assert run("fuse", "a.png", "b.png", "-o", "fused.png", "--dictionary", "levels3").code == 0
    expected = fuse(scene, dictionary=CoupledDictionary.default("levels3"))
    np.testing.assert_array_equal(read_image("fused.png"), expected.image)


def test_every_method_with_a_dictionary_takes_one(folder, run, scene, dictionary, dictionary_file):
    assert run("fuse", ".", "-o", "fused.png", "--method", "sr-ksvd", *dictionary).code == 0
    expected = fuse(scene, "sr-ksvd", dictionary=CoupledDictionary.load(dictionary_file))
    np.testing.assert_array_equal(read_image("fused.png"), expected.image)


def test_large_patches_count_as_memory_by_their_atoms(folder, run):
    """45 x 45 pixels, 8100 atoms: their inner products are 262 MB."""
    options = ("--dry-run", "--align", "off", "--method", "sr-cm", "--set", "patch_size=45")
    ran = run("fuse", ".", "-o", "fused.png", *options)
    assert re.search(r"about 7[01]\d MB", ran.out)


def test_threads_do_not_change_a_byte(folder, run, dictionary):
    for threads in (1, 2):
        run("fuse", "a.png", "b.png", "-o", f"fused{threads}.png", "--threads", threads, *dictionary)
    assert (folder / "fused1.png").read_bytes() == (folder / "fused2.png").read_bytes()


@pytest.mark.parametrize(
    ("option", "file", "words"),
    [
        ("--depth", "depth.tif", "coupled gives no depth; leave --depth out"),
        (
            "--never-in-focus",
            "never.png",
            "coupled gives no map of what is never in focus; leave --never-in-focus out",
        ),
    ],
)
def test_if_one_output_cannot_be_had_none_is_written(folder, run, dictionary, option, file, words):
    before = names_in(folder)
    maps = ("--method", "coupled", "--labels", "labels.png", option, file)
    ran = run("fuse", ".", "-o", "fused.png", *maps, *dictionary)
    assert (ran.code, ran.err) == (2, f"panfocus: the method {words}\n")
    assert names_in(folder) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--align", "rigid"], 2, ["--align must be one of off, auto, shift", "'rigid'"]),
        (["--borders", "black"], 2, ["--borders must be one of full, crop"]),
        (["--reference", "c.png"], 2, ["--reference c.png", "0 to 1"]),
        (["--method", "magic"], 2, ["magic", DEFAULT_METHOD]),
        (["--set", "w"], 2, ["NAME=VALUE", "w"]),
        (["--set", "noise=high"], 2, ["noise=high", "number"]),
        (["--set", "omega=1"], 2, ["omega", "known"]),
        (["--set", "noise=99"], 2, ["noise must", "99"]),
        (["--set", "dictionary=d.npz"], 2, ["dictionary"]),
        (["--refine-strength", "-1"], 2, ["--refine-strength", "-1"]),
        (["--refine-strength", "nan"], 2, ["--refine-strength", "nan"]),
        (["--threads", "0"], 2, ["--threads"]),
        (["--max-memory", "much"], 2, ["much", "2GB"]),
        (["--max-memory", ""], 2, ["not a size", "2GB"]),
        (["--max-memory", "100MB"], 1, ["memory", "100 MB"]),
        (["--labels", "labels.jpg"], 2, ["labels.jpg", ".png"]),
        (["--confidence", "sure.jpg"], 2, ["sure.jpg", ".tif"]),
        (["--depth", "depth.jpg"], 2, ["depth.jpg", ".tif"]),
        (["--never-in-focus", "never.tif"], 2, ["never.tif", ".png"]),
        (["--report", "report.txt"], 2, ["report.txt", ".json"]),
        (["--labels", "fused.png"], 2, ["same name"]),
        (["--labels", "map.png", "--never-in-focus", "map.png"], 2, ["same name"]),
        (["--labels", "a.png", "--force"], 1, ["a.png", "one of the inputs"]),
        (["--report", "nowhere/report.json"], 1, ["no folder", "nowhere"]),
        (["--dictionary", "none.npz"], 1, ["none.npz", "no such file"]),
        (["--dictionary", "levels9"], 2, ["levels9", "levels3", ".npz"]),
        (["--dictionary", "ksvd"], 2, ["panfocus", "two or more levels", "1 level of 256 atoms"]),
        (["--method", "sr-cm"], 2, ["dictionary", "sr-cm"]),
        (["--nonsense"], 2, ["--nonsense"]),
    ],
)
def test_a_wrong_option_is_one_line(folder, run, dictionary, arguments, code, words):
    before = names_in(folder)
    ran = run("fuse", "a.png", "b.png", "-o", "fused.png", *dictionary, *arguments)
    assert ran.code == code
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("panfocus: ")
    assert all(word in ran.err for word in words), ran.err
    assert names_in(folder) == before


def test_an_unexpected_error_is_one_line_and_a_traceback_only_on_request(
    folder, run, dictionary, monkeypatch
):
    def fail(*_, **__):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("panfocus.pipeline.fuse", fail)
    ran = run("fuse", ".", "-o", "fused.png", *dictionary)
    assert (ran.code, ran.err) == (
        1,
        "panfocus: unexpected RuntimeError: two lines; run again with --debug to see where\n",
    )
    assert "Traceback" in run("fuse", ".", "-o", "fused.png", "--debug", *dictionary).err


def test_a_lack_of_memory_is_one_line(folder, run, dictionary, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("panfocus.pipeline.fuse", fail)
    ran = run("fuse", ".", "-o", "fused.png", *dictionary)
    assert (ran.code, ran.err) == (1, "panfocus: not enough memory; use fewer or smaller frames\n")


def test_it_says_which_frames_were_corrected_and_how_many_pixels_repaired(folder, run, rng):
    sharp = 60 + 60 * gaussian_filter(rng.random((64, 80)), 3) + np.zeros((3, 64, 80))
    sharp[1] *= 0.8
    sharp[:, 30, 40] = 250
    for k, frame in enumerate(np.rint(sharp).astype(np.uint8)):
        write_image(folder / f"stack-{k}.png", frame)
    command = ("fuse", *(f"stack-{k}.png" for k in range(3)), "--report", "report.json", "-o")
    out = run(*command, "corrected.png").out
    assert "exposure of 1 frame corrected by up to 25%" in out
    assert "hot pixels repaired: 1 of all frames, 0 of single ones" in out
    report = json.loads((folder / "report.json").read_text())
    assert report["exposure"]["reference"] == 0
    assert np.squeeze(report["exposure"]["gains"]) == pytest.approx([1, 1.25, 1], abs=0.005)
    assert report["hot_pixels"] == {"fixed": 1, "single": 0}
    off = run(*command, "off.png", "--force", "--exposure", "off", "--hot-pixels", "off")
    assert (off.code, "corrected" in off.out, "repaired" in off.out) == (0, False, False)
    assert read_image("off.png").max() == 250
    assert "exposure" not in json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("option", ["--exposure", "--hot-pixels"])
def test_other_words_for_corrections_are_refused(folder, run, option):
    ran = run("fuse", "a.png", "b.png", "-o", "fused.png", option, "some")
    assert ran.code == 2
    assert f"{option} must be one of auto" in ran.err
