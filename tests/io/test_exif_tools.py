"""Metadata, tag by tag, as exiftool reads it: what the frame says, the fused picture says too.

exiftool is the oracle: an independent reader of every format and of the makers' notes. Tags that may differ are
listed with the reason.
"""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from panfocus.io.read import read_image, read_stack
from panfocus.io.write import said_losses, write_image

EXIFTOOL = shutil.which("exiftool")
pytestmark = pytest.mark.skipif(
    EXIFTOOL is None and not os.environ.get("CI"), reason="exiftool is not installed (libimage-exiftool-perl)"
)

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
LAYOUT = {  # of a TIFF's pixels
    f"IFD0:{name}"
    for name in (
        "SubfileType ImageWidth ImageHeight BitsPerSample Compression PhotometricInterpretation StripOffsets "
        "SamplesPerPixel RowsPerStrip StripByteCounts PlanarConfiguration SampleFormat ExtraSamples"
    ).split()
}
OF_JPEG = {
    "IFD0:YCbCrPositioning",
    "IFD0:YCbCrCoefficients",
    "IFD0:ReferenceBlackWhite",
}  # colours inside a JPEG


def tags(path):
    """Return every tag by group and name, raw, of unknown ones too; and fail if exiftool has to warn."""
    said = subprocess.run(
        [EXIFTOOL or "exiftool", "-j", "-G1", "-a", "-u", "-n", "-struct", "-validate", path],
        capture_output=True,
        check=True,
    )
    (found,) = json.loads(said.stdout.decode(errors="replace"))
    found.pop("ExifTool:Validate", None)
    return found


def kept(found, *, besides=frozenset()):
    return {
        name: value
        for name, value in found.items()
        if name.partition(":")[0] not in OF_THE_FILE and name not in CHANGED | LAYOUT | besides
    }


@pytest.fixture
def photograph(tmp_path):
    """A JPEG with every kind of tag, written by exiftool; its camera was held sideways."""
    rng = np.random.default_rng(5)
    path = tmp_path / "frame.jpg"
    picture = Image.fromarray(rng.integers(0, 256, (40, 64, 3), dtype=np.uint8))
    thumbnail = tmp_path / "thumbnail.jpg"
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
            *("-XResolution=300", "-YResolution=200", "-ResolutionUnit=2", f"-ThumbnailImage<={thumbnail}"),
            str(path),
        ],
        check=True,
    )
    return path


def srgb():
    from PIL import ImageCms

    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def fused_like(source, target, image=None):
    stack = read_stack([source, source])
    write_image(target, stack.frames[0] if image is None else image, like=stack)
    return stack


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif", ".webp"])
def test_every_tag_of_a_photograph_survives(tmp_path, photograph, suffix):
    target = tmp_path / f"fused{suffix}"
    stack = fused_like(photograph, target)
    before, after = tags(photograph), tags(target)
    besides = set() if suffix == ".jpg" else OF_JPEG
    # Resolutions are exchanged with the sides; the thumbnail (IFD1) shows one frame and is left out.
    turned = {"IFD0:XResolution": before["IFD0:YResolution"], "IFD0:YResolution": before["IFD0:XResolution"]}
    expected = {name: value for name, value in (before | turned).items() if not name.startswith("IFD1:")}
    assert kept(after, besides=besides) == kept(expected, besides=besides)
    assert len(kept(after)) > 50
    assert "ExifTool:Warning" not in after
    assert not any(name.startswith("IFD1:") for name in after)
    assert after["IFD0:Software"] == after["XMP-xmp:CreatorTool"] == "panfocus"
    assert after["IFD0:Orientation"] == after["XMP-tiff:Orientation"] == 1
    assert (after["ExifIFD:ExifImageWidth"], after["ExifIFD:ExifImageHeight"]) == (40, 64)
    assert after["XMP-exif:ExifImageWidth"] == 40
    assert stack.frames[0].shape == (64, 40, 3)
    assert said_losses(target, stack) == []


@pytest.mark.parametrize("first", [".png", ".tif", ".webp"])
@pytest.mark.parametrize("second", [".jpg", ".png", ".tif", ".webp"])
def test_tags_survive_from_format_to_format(tmp_path, photograph, first, second):
    middle, target = tmp_path / f"middle{first}", tmp_path / f"fused{second}"
    fused_like(photograph, middle)
    fused_like(middle, target)
    before, after = tags(middle), tags(target)
    assert kept(after) == kept(before)
    assert len(kept(after)) > 50
    assert "ExifTool:Warning" not in after


def test_sixteen_bits_carry_the_same_tags(tmp_path, photograph):
    deep = np.random.default_rng(1).integers(0, 65536, (64, 40, 3), dtype=np.uint16)
    for suffix in (".png", ".tif"):
        fused_like(photograph, tmp_path / f"deep{suffix}", deep)
        expected = tmp_path / f"eight{suffix}"
        fused_like(photograph, expected)
        assert kept(tags(tmp_path / f"deep{suffix}")) == kept(tags(expected))
        np.testing.assert_array_equal(read_image(tmp_path / f"deep{suffix}"), deep)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif", ".webp"])
@pytest.mark.parametrize("name", ["pcb/pcb_001.jpg", "amber-flies/flies_0000.jpg"])
def test_every_tag_of_a_real_photograph_survives(data_dir, tmp_path, name, suffix):
    """The first has notes of its maker (Olympus), which exiftool reads only where they are whole."""
    source, target = data_dir / "stacks" / name, tmp_path / f"fused{suffix}"
    fused_like(source, target)
    before, after = tags(source), tags(target)
    # Said to be lost: IPTC and Photoshop's data; the thumbnail shows one frame only.
    lost = ("IFD1:", "IPTC:", "Photoshop:")
    expected = {tag: value for tag, value in before.items() if not tag.startswith(lost)}
    assert kept(after, besides=OF_JPEG) == kept(expected, besides=OF_JPEG)


@pytest.mark.parametrize("order", [b"II", b"MM"])
def test_notes_of_a_maker_stay_where_they_point(tmp_path, order):
    """Notes as Canon writes them: a directory whose offsets count from the beginning of the EXIF data."""
    path = tmp_path / "canon.jpg"
    exif = canon_exif("<" if order == b"II" else ">")
    Image.fromarray(np.zeros((16, 24, 3), np.uint8)).save(path, exif=b"Exif\0\0" + exif)
    assert tags(path)["Canon:OwnerName"] == "the owner of this camera"
    for suffix in (".jpg", ".png", ".tif", ".webp"):
        target = tmp_path / f"fused{suffix}"
        fused_like(path, target)
        assert tags(target)["Canon:OwnerName"] == "the owner of this camera", suffix


def canon_exif(order):
    import struct

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
