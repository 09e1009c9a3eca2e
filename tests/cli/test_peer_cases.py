"""Inputs on which other programs fail or lose something; see docs/robustness.md."""

import json
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_errors import assert_error_line
from PIL import Image, ImageCms
from scipy.ndimage import gaussian_filter

from panfocus.io.encode import write_image
from panfocus.io.headers import read_headers
from panfocus.io.read_stack import read_image

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
# A fast method without alignment: these tests concern the steps before both.
QUICK = ("--method", "dwt", "--align", "off")
COPIED = ("--set", "composition=labels", "--align", "off")  # every pixel is copied from one frame


def frame(shape=(80, 96), *, seed=0, blur=0.0, top=65535):
    """A frame of the scene `seed`, uint16 up to `top`."""
    picture = gaussian_filter(np.random.default_rng(seed).random((*shape[:2], 3)), (1.5, 1.5, 0))
    picture = gaussian_filter(picture, (blur, blur, 0))
    picture = (picture - picture.min()) / np.ptp(picture)
    return np.rint(top * (picture if len(shape) == 3 else picture[..., 1])).astype(np.uint16)


def pair(shape=(80, 96), **options):
    return frame(shape, **options), frame(shape, blur=2.0, **options)


def eight_bit(*frames):
    return [(one // 257).astype(np.uint8) for one in frames]


def save(kind, images, **options):
    """Save images with Pillow or tifffile, not with panfocus; return the names."""
    names = [f"{'abcdef'[k]}.{kind}" for k in range(len(images))]
    for name, image in zip(names, images, strict=True):
        if kind == "tif":
            photometric = "rgb" if image.ndim == 3 else "minisblack"
            tifffile.imwrite(name, image, photometric=photometric, metadata=None, **options)
        else:
            Image.fromarray(image).save(name, **options)
    return names


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def assert_rejected(ran, *names, code=1):
    assert ran.code == code, ran
    assert_error_line(ran.err, *names)
    assert not [path for path in Path().iterdir() if path.name.startswith(("new", "."))]


def cut_in_half(name):
    data = Path(name).read_bytes()
    Path(name).write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("size", [(500, 510), (514, 516)])
def test_frames_of_two_sizes_are_rejected(run, size):
    names = save("png", eight_bit(frame((520, 520)), frame(size)))
    ran = run("fuse", *names, "-o", "new.png", *QUICK)
    assert_rejected(ran, *names, "520 x 520", f"{size[1]} x {size[0]}")


def test_truncated_jpeg_is_rejected(run):
    names = save("jpg", eight_bit(*pair((80, 96, 3))))
    cut_in_half("b.jpg")
    assert_rejected(run("fuse", *names, "-o", "new.jpg", *QUICK), "b.jpg")


def test_text_file_among_the_frames_is_rejected(run):
    names = save("jpg", eight_bit(*pair((80, 96, 3)), frame((80, 96, 3), blur=3.0)))
    Path("b.jpg").write_text("not a picture\n")
    assert_rejected(run("fuse", *names, "-o", "new.jpg", *QUICK), "b.jpg")


def test_folder_without_images_is_rejected(run):
    Path("empty").mkdir()
    assert_rejected(run("fuse", "empty", "-o", "new.png", *QUICK), "empty")


def test_single_frame_is_rejected(run):
    names = save("png", eight_bit(frame()))
    assert_rejected(run("fuse", *names, "-o", "new.png", *QUICK), "a.png", code=2)


def test_unrelated_scenes_are_rejected_with_a_score(run):
    names = save("png", eight_bit(frame(), frame(seed=1)))
    assert_rejected(run("fuse", *names, "-o", "new.png", *QUICK), "b.png", "a.png", "0.6")


@pytest.mark.parametrize("kind", ["tif", "png"])
def test_16_bit_frames_keep_every_level(run, kind):
    a, b = pair((80, 96, 3))
    if kind == "tif":
        save("tif", [a, b])
    else:
        for name, image in (("a.png", a), ("b.png", b)):
            write_image(name, image)  # Pillow writes no 16-bit colour
    assert run("fuse", f"a.{kind}", f"b.{kind}", "-o", f"new.{kind}", *COPIED).code == 0
    fused = read_image(f"new.{kind}")
    assert fused.dtype == np.uint16
    assert ((fused == a) | (fused == b)).all()
    assert len(np.unique(fused)) > 10_000  # of 23,040 values


def test_float_frames_keep_every_value(run):
    a, b = (image.astype(np.float32) / 65535 for image in pair((80, 96, 3)))
    save("tif", [a, b])
    assert run("fuse", "a.tif", "b.tif", "-o", "new.tif", *COPIED).code == 0
    fused = read_image("new.tif")
    assert fused.dtype == np.float32
    assert ((fused == a) | (fused == b)).all()


def test_two_bit_depths_are_rejected(run):
    deep, _ = pair((80, 96, 3))
    write_image("a.png", deep)
    write_image("b.png", *eight_bit(deep))
    assert_rejected(
        run("fuse", "a.png", "b.png", "-o", "new.png", *QUICK), "a.png", "uint16", "b.png", "uint8"
    )


def test_colour_with_grey_is_rejected(run):
    names = save("png", eight_bit(frame((80, 96, 3)), frame()))
    ran = run("fuse", *names, "-o", "new.png", *QUICK)
    assert_rejected(ran, "a.png", "b.png")


@pytest.mark.parametrize(("kind", "dtype"), [("png", "uint8"), ("tif", "uint16"), ("jpg", "uint8")])
def test_grey_frames_give_a_grey_image_of_their_bit_depth(run, kind, dtype):
    frames = pair()
    names = save(kind, frames if dtype == "uint16" else eight_bit(*frames))
    assert run("fuse", *names, "-o", f"new.{kind}", *QUICK).code == 0
    fused = read_image(f"new.{kind}")
    assert (fused.shape, fused.dtype.name) == ((80, 96), dtype)


def test_alpha_is_kept_exactly(run):
    alpha = np.repeat(np.array([0, 128, 255], np.uint8), 32)[np.newaxis, :, np.newaxis].repeat(80, axis=0)
    frames = [np.concatenate([image, alpha], axis=2) for image in eight_bit(*pair((80, 96, 3)))]
    names = save("png", frames)
    assert run("fuse", *names, "-o", "new.png", "--align", "off").code == 0
    np.testing.assert_array_equal(read_image("new.png")[..., 3:], alpha)


def test_profile_and_exif_of_a_jpeg_are_kept(run):
    exif = Image.Exif()
    exif[0x010F] = "maker"
    names = save("jpg", eight_bit(*pair((80, 96, 3))), exif=exif, icc_profile=PROFILE, quality=95)
    ran = run("fuse", *names, "-o", "new.jpg", *QUICK)
    assert ran.code == 0
    with Image.open("new.jpg") as fused:
        assert fused.info["icc_profile"] == PROFILE
        assert fused.getexif().get(0x010F) == "maker"


def test_profile_and_artist_of_a_tiff_are_kept(run):
    names = save(
        "tif", eight_bit(*pair((80, 96, 3))), iccprofile=PROFILE, extratags=[(315, 2, 0, "me", True)]
    )
    ran = run("fuse", *names, "-o", "new.tif", *QUICK)
    assert ran.code == 0
    with tifffile.TiffFile("new.tif") as fused:
        assert fused.pages.first.iccprofile == PROFILE
        assert "Artist" in fused.pages.first.tags


def test_profile_that_libpng_rejects_is_written_to_png(run, data_dir):
    """enfuse cannot write it: libpng rejects the profile of these frames as known to be wrong."""
    names = [data_dir / "lytro" / f"lytro-07-{letter}.jpg" for letter in "AB"]
    assert run("fuse", *names, "-o", "new.png", *QUICK).code == 0
    assert read_headers([Path("new.png")])[0].frame.icc_profile == read_headers(names)[0].frame.icc_profile


# --skip-bad: one warning for each skipped frame, also with --quiet and in the report.


@pytest.fixture
def mixed():
    """A folder with three good frames and one of each bad kind; return the names of the bad ones."""
    good = eight_bit(*pair((80, 96, 3)), frame((80, 96, 3), blur=4.0))
    folder = Path("stack")
    folder.mkdir()
    for name, image in zip("adg", good, strict=True):
        write_image(folder / f"{name}.png", image)
        write_image(f"{name}.png", image)
    sound = (folder / "a.png").read_bytes()
    (folder / "b.png").write_bytes(b"")
    (folder / "c.png").write_bytes(sound[:400])
    write_image(folder / "e.png", *eight_bit(frame((60, 96, 3))))
    write_image(folder / "f.png", *eight_bit(frame((80, 96, 3), seed=9)))
    (folder / "h.png").write_bytes(sound)
    pixels = sound.index(b"IDAT") + 40  # the header is fine
    (folder / "i.png").write_bytes(sound[:pixels] + bytes(200) + sound[pixels + 200 :])
    # Empty, truncated, of another size, of another scene, a copy, damaged.
    return ["b.png", "c.png", "e.png", "f.png", "h.png", "i.png"]


def test_bad_frames_are_skipped_with_a_warning(run, mixed):
    assert run("fuse", "a.png", "d.png", "g.png", "-o", "good.png", *QUICK).code == 0
    ran = run("fuse", "stack", "-o", "new.png", "--skip-bad", "--quiet", "--report", "report.json", *QUICK)
    assert (ran.code, ran.out) == (0, "")
    assert Path("new.png").read_bytes() == Path("good.png").read_bytes()
    lines = ran.err.splitlines()
    dropped = json.loads(Path("report.json").read_text())["dropped"]
    assert sorted(item["frame"] for item in dropped) == [f"stack/{name}" for name in mixed]
    assert len(lines) == len(mixed)
    for name in mixed:
        assert any(line.startswith("panfocus: warning: ") and f"stack/{name}" in line for line in lines)


def test_first_bad_frame_is_rejected_without_skip_bad(run, mixed):
    assert_rejected(run("fuse", "stack", "-o", "new.png", *QUICK), "stack/b.png")


def test_single_good_frame_is_rejected(run, mixed):
    bad = [f"stack/{name}" for name in mixed]
    ran = run("fuse", "a.png", *bad, "-o", "new.png", "--skip-bad", *QUICK)
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1 + len(mixed)
    assert not Path("new.png").exists()


def test_duplicate_frames_are_used_and_reported(run):
    names = save("png", eight_bit(*pair()))
    ran = run("fuse", *names, "a.png", "-o", "new.png", *QUICK)
    assert ran.code == 0
    assert any("a.png" in line and "--skip-bad" in line for line in ran.out.splitlines())


@pytest.mark.parametrize(
    "option", [("--slabs", "2:1"), ("--apply-to", "stack", "--apply-output", "other.png")]
)
def test_skip_bad_cannot_be_combined_with_numbered_frames(run, mixed, option):
    ran = run("fuse", "stack", "-o", "new.tif", "--skip-bad", *option, "--align", "off")
    assert_rejected(ran, "--skip-bad", option[0], code=2)


def test_run_with_skipped_frames_is_repeated_from_its_report(run, mixed):
    assert run("fuse", "stack", "-o", "new.png", "--skip-bad", "--report", "report.json", *QUICK).code == 0
    ran = run("fuse", "--from-report", "report.json", "-o", "again.png")
    assert (ran.code, ran.err.count("warning: ")) == (0, 3)  # frames with good headers
    assert Path("again.png").read_bytes() == Path("new.png").read_bytes()
