"""Metadata, tag by tag, as exiftool reads it: what the frame says, the fused picture says too.

exiftool is the oracle: an independent reader of every format and of the makers' notes. Tags that may differ
are listed with the reason.
"""

import json
import os
import shutil
import struct
import subprocess

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms

from panfocus.io.encode import describe_losses, write_image
from panfocus.io.read_stack import read_image, read_stack

EXIFTOOL = shutil.which("exiftool")
pytestmark = pytest.mark.skipif(
    EXIFTOOL is None and not os.environ.get("CI"), reason="exiftool is not installed (libimage-exiftool-perl)"
)

SUFFIXES = (".jpg", ".png", ".tif", ".webp")

# Groups that describe the file or its coding, not the photograph.
OF_THE_FILE = {
    "ExifTool",
    "System",
    "File",
    "Composite",
    "JFIF",
    "PNG",
    "PNG-pHYs",
    "RIFF",
    "SourceFile",
    "Adobe",
    "APP14",
}
CHANGED = {
    "IFD0:Software",  # we made it
    "XMP-xmp:CreatorTool",
    "XMP-tiff:Software",
    "XMP-dc:Format",  # of the new file
    "IFD0:Orientation",  # applied to the pixels
    "XMP-tiff:Orientation",
    "ExifIFD:ExifImageWidth",  # sizes are the new picture's
    "ExifIFD:ExifImageHeight",
    "InteropIFD:RelatedImageWidth",
    "InteropIFD:RelatedImageHeight",
    "XMP-exif:ExifImageWidth",
    "XMP-exif:ExifImageHeight",
    "XMP-tiff:ImageWidth",
    "XMP-tiff:ImageHeight",
}
# Of a TIFF's pixels.
LAYOUT = {
    *("IFD0:SubfileType", "IFD0:ImageWidth", "IFD0:ImageHeight", "IFD0:BitsPerSample", "IFD0:Compression"),
    *("IFD0:PhotometricInterpretation", "IFD0:StripOffsets", "IFD0:SamplesPerPixel", "IFD0:RowsPerStrip"),
    *("IFD0:StripByteCounts", "IFD0:PlanarConfiguration", "IFD0:SampleFormat", "IFD0:ExtraSamples"),
}
OF_JPEG = {
    "IFD0:YCbCrPositioning",
    "IFD0:YCbCrCoefficients",
    "IFD0:ReferenceBlackWhite",
}  # colours inside a JPEG


def tags(*paths):
    """Return every tag of each file by group and name, raw, and of unknown ones too."""
    said = subprocess.run(
        [EXIFTOOL or "exiftool", "-j", "-G1", "-a", "-u", "-n", "-b", "-struct", *paths],
        capture_output=True,
        check=True,
    )
    return json.loads(said.stdout.decode(errors="replace"))


def kept(found, *, besides=frozenset()):
    return {
        name: value
        for name, value in found.items()
        if name.partition(":")[0] not in OF_THE_FILE and name not in CHANGED | LAYOUT | besides
    }


@pytest.fixture(scope="module")
def photograph(tmp_path_factory):
    """A JPEG with every kind of tag, written by exiftool; its camera was held sideways."""
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("photograph")
    path = folder / "frame.jpg"
    picture = Image.fromarray(rng.integers(0, 256, (40, 64, 3), dtype=np.uint8))
    thumbnail = folder / "thumbnail.jpg"
    picture.resize((16, 10)).save(thumbnail)
    picture.save(path, quality=95, dpi=(300, 200), icc_profile=srgb())
    subprocess.run(
        [
            *(EXIFTOOL or "exiftool", "-q", "-overwrite_original", "-n"),
            *(
                "-Make=Canon",
                "-Model=Canon EOS R5",
                "-Orientation=6",
                "-Software=Firmware 1.2",
                "-Artist=Zoë Müller",
            ),
            *("-Copyright=(c) 2026", "-ImageDescription=A beetle", "-ModifyDate=2026:05:01 10:20:31"),
            *(
                "-DateTimeOriginal=2026:05:01 10:20:30",
                "-SubSecTimeOriginal=25",
                "-OffsetTimeOriginal=+02:00",
            ),
            *(
                "-ExposureTime=0.004",
                "-FNumber=5.6",
                "-ISO=100",
                "-FocalLength=100",
                "-LensModel=RF100mm F2.8 L",
            ),
            *("-LensInfo=100 100 2.8 2.8", "-UserComment=sixth of nine", "-ColorSpace=1", "-Flash=16"),
            *("-ExifImageWidth=64", "-ExifImageHeight=40", "-SerialNumber=0123", "-InteropIndex=R98"),
            *(
                "-GPSLatitude=48.1",
                "-GPSLatitudeRef=N",
                "-GPSLongitude=11.5",
                "-GPSLongitudeRef=E",
                "-GPSAltitude=519",
            ),
            *(
                "-XMP-tiff:Orientation=6",
                "-XMP-dc:Title=Beetle",
                "-XMP-dc:Subject=insect",
                "-XMP-xmp:Rating=4",
            ),
            *(
                "-XMP-exif:ExifImageWidth=64",
                "-XMP-xmp:CreatorTool=Firmware 1.2",
                "-XMP-dc:Format=image/jpeg",
            ),
            *(
                "-IFD0:XResolution=300",
                "-IFD0:YResolution=200",
                "-IFD0:ResolutionUnit=2",
                f"-ThumbnailImage<={thumbnail}",
            ),
            str(path),
        ],
        check=True,
    )
    return path


def srgb():
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def fused_like(source, target, image=None):
    stack = read_stack([source, source])
    write_image(target, stack.frames[0] if image is None else image, like=stack)
    return stack


def test_every_tag_of_a_photograph_survives(tmp_path, photograph):
    targets = [tmp_path / f"fused{suffix}" for suffix in SUFFIXES]
    for target in targets:
        stack = fused_like(photograph, target)
        assert stack.frames[0].shape == (64, 40, 3)
        assert describe_losses(target, stack) == []
    before, *found = tags(photograph, *targets)
    # Resolutions are exchanged with the sides; the thumbnail (IFD1) shows one frame and is left out.
    turned = {"IFD0:XResolution": before["IFD0:YResolution"], "IFD0:YResolution": before["IFD0:XResolution"]}
    expected = {name: value for name, value in (before | turned).items() if not name.startswith("IFD1:")}
    assert "IFD1:ThumbnailImage" in before
    for suffix, after in zip(SUFFIXES, found, strict=True):
        besides = set() if suffix == ".jpg" else OF_JPEG
        assert kept(after, besides=besides) == kept(expected, besides=besides), suffix
        assert len(kept(after)) > 50
        assert "ExifTool:Warning" not in after
        assert after["IFD0:Software"] == after["XMP-xmp:CreatorTool"] == "panfocus"
        assert after["IFD0:Orientation"] == after["XMP-tiff:Orientation"] == 1
        assert (after["ExifIFD:ExifImageWidth"], after["ExifIFD:ExifImageHeight"]) == (40, 64)
        assert after["XMP-exif:ExifImageWidth"] == 40
    # The formats' own resolution, as their specifications count it: per inch, and per metre.
    jpeg, png, *_ = found
    assert (jpeg["JFIF:XResolution"], jpeg["JFIF:YResolution"], jpeg["JFIF:ResolutionUnit"]) == (200, 300, 1)
    assert (png["PNG-pHYs:PixelsPerUnitX"], png["PNG-pHYs:PixelsPerUnitY"]) == (7874, 11811)


def test_tags_survive_from_format_to_format(tmp_path, photograph):
    middles = [tmp_path / f"middle{suffix}" for suffix in SUFFIXES]
    targets = {}
    for middle in middles:
        fused_like(photograph, middle)
        for suffix in SUFFIXES:
            target = tmp_path / f"from-{middle.suffix[1:]}{suffix}"
            fused_like(middle, target)
            targets[target] = middle
    found = dict(zip([*middles, *targets], tags(*middles, *targets), strict=True))
    for target, middle in targets.items():
        after = found[target]
        assert kept(after, besides=OF_JPEG) == kept(found[middle], besides=OF_JPEG), target.name
        assert len(kept(after)) > 50
        assert "ExifTool:Warning" not in after


def test_sixteen_bits_carry_the_same_tags(tmp_path, photograph):
    deep = np.random.default_rng(1).integers(0, 65536, (64, 40, 3), dtype=np.uint16)
    names = ["eight.png", "eight.tif", "deep.png", "deep.tif"]
    for name in names:
        fused_like(photograph, tmp_path / name, deep if name.startswith("deep") else None)
    eight_png, eight_tif, *others = map(kept, tags(*(tmp_path / name for name in names)))
    assert others == [eight_png, eight_tif]
    for name in names[2:]:
        np.testing.assert_array_equal(read_image(tmp_path / name), deep)


def test_a_file_beyond_4_gigabytes_carries_the_same_tags(tmp_path, photograph, monkeypatch):
    """Its offsets have 64 bits; the oracle is tifffile, as exiftool takes its place for another directory."""
    fused_like(photograph, tmp_path / "classic.tif")
    monkeypatch.setattr("panfocus.io.tiff_writer._MAX_CLASSIC", 0)
    fused_like(photograph, tmp_path / "big.tif")
    with (
        tifffile.TiffFile(tmp_path / "classic.tif") as classic,
        tifffile.TiffFile(tmp_path / "big.tif") as big,
    ):
        assert big.is_bigtiff
        assert not classic.is_bigtiff
        np.testing.assert_array_equal(big.asarray(), classic.asarray())
        found, expected = ({tag.code: tag.value for tag in file.pages[0].tags} for file in (big, classic))
    offsets = {0x0111, 0x0117}
    assert expected[0x8769]["LensModel"] == "RF100mm F2.8 L"
    assert expected[0x8825]["GPSLatitude"] == (48, 1, 6, 1, 0, 1)
    for values in (found, expected):
        values[0x8769].pop("InteroperabilityTag")
    assert {tag: value for tag, value in found.items() if tag not in offsets} == {
        tag: value for tag, value in expected.items() if tag not in offsets
    }


@pytest.mark.parametrize("name", ["pcb/pcb_001.jpg", "amber-flies/flies_0000.jpg"])
def test_every_tag_of_a_real_photograph_survives(data_dir, tmp_path, name):
    """The first has notes of its maker (Olympus), which exiftool reads only where they are whole."""
    source = data_dir / "stacks" / name
    stack = read_stack([source, source])
    targets = [tmp_path / f"fused{suffix}" for suffix in SUFFIXES]
    for target in targets:
        write_image(target, stack.frames[0][:9, :8], like=stack)
    before, *found = tags(source, *targets)
    # Said to be lost: IPTC and Photoshop's data; the thumbnail shows one frame only.
    lost = ("IFD1:", "IPTC:", "Photoshop:")
    assert bool(describe_losses(targets[0], stack)) == any(tag.startswith(lost[1:]) for tag in before)
    expected = {tag: value for tag, value in before.items() if not tag.startswith(lost)}
    for after in found:
        assert kept(after, besides=OF_JPEG) == kept(expected, besides=OF_JPEG)
        assert len(kept(after)) > 30


def test_maker_note_keeps_its_offset(tmp_path):
    """Notes as Canon writes them: a directory whose offsets count from the beginning of the EXIF data."""
    paths = []
    for order in "<>":
        path = tmp_path / f"{'little' if order == '<' else 'big'}.jpg"
        Image.fromarray(np.zeros((16, 24, 3), np.uint8)).save(path, exif=b"Exif\0\0" + canon_exif(order))
        paths.append(path)
        for suffix in SUFFIXES:
            paths.append(path.with_name(f"fused-{path.stem}{suffix}"))
            fused_like(path, paths[-1])
        again = path.with_name(f"again-{path.stem}.jpg")
        fused_like(path.with_name(f"fused-{path.stem}.tif"), again)
        paths.append(again)
    assert [found["Canon:OwnerName"] for found in tags(*paths)] == ["the owner of this camera"] * len(paths)


def canon_exif(order):
    def directory(entries):
        return struct.pack(order + "H", len(entries)) + b"".join(entries) + bytes(4)

    def entry(tag, kind, count, value):
        return struct.pack(order + "HHII", tag, kind, count, value)

    owner = b"the owner of this camera\0"
    make = b"Canon\0"
    exif_at = 8 + 2 + 12 * 2 + 4 + len(make)
    note_at = exif_at + 2 + 12 + 4
    owner_at = note_at + 2 + 12 + 4
    note = directory([entry(9, 2, len(owner), owner_at)]) + owner
    return (
        (b"II*\0" if order == "<" else b"MM\0*")
        + struct.pack(order + "I", 8)
        + directory([entry(0x010F, 2, len(make), 8 + 2 + 24 + 4), entry(0x8769, 4, 1, exif_at)])
        + make
        + directory([entry(0x927C, 7, len(note), note_at)])
        + note
    )
