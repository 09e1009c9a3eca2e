"""From what a frame's file says to what the fused picture's file may say, and what is lost on the way.

Carried: EXIF, XMP, resolution, and the colours of PNG. The orientation has been applied to the pixels and is
said to be upright; sizes are the picture's own; small pictures of the frame are left out; we are named.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from panfocus.io._frame import SIDEWAYS
from panfocus.io.exif import RESOLUTION_UNIT, SOFTWARE, X_RESOLUTION, Y_RESOLUTION, Exif, parse_exif
from panfocus.io.units import is_length_of_ome
from panfocus.io.xmp import goes_on_elsewhere, orientation_of, xmp_for_picture
from panfocus.stack import Metadata, Resolution

_MEDIA = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
_MAX_JPEG_EXIF = 65_527  # bytes of one segment without its length and name
_MAX_JPEG_XMP = 65_504
_MAX_XMP = 4 << 20  # bytes of a text that is looked through; cameras and programs write some thousand


@dataclass(frozen=True)
class Source:
    """What a decoder found in a file."""

    exif: Exif | None
    orientation: int
    metadata: Metadata


def gather(
    exif: bytes | Exif | None,
    xmp: bytes | None,
    resolution: Resolution | None = None,
    *,
    left_behind: Sequence[str] = (),
) -> Source:
    """Bring together what a file says; the resolution of its own format goes before that of EXIF."""
    left = list(left_behind)
    parsed = parse_exif(exif) if isinstance(exif, bytes) else exif
    if exif and not (parsed and parsed.complete):
        left.append("damaged EXIF data")
    if parsed and isinstance(exif, bytes):
        left += unknown_tags(parsed)
    if xmp and len(xmp) > _MAX_XMP:
        left.append(f"XMP data of more than {_MAX_XMP >> 20} MB")
        xmp = None
    if xmp and goes_on_elsewhere(xmp):
        left.append("extended XMP data")
    orientation = parsed.orientation if parsed and parsed.orientation != 1 else orientation_of(xmp)
    orientation = orientation if 1 <= orientation <= 8 else 1
    resolution = resolution or (_exif_resolution(parsed) if parsed else None)
    if resolution and orientation in SIDEWAYS:
        resolution = replace(resolution, x=resolution.y, y=resolution.x)
    data = exif.removeprefix(b"Exif\0\0") if isinstance(exif, bytes) else exif.to_bytes() if exif else None
    metadata = Metadata(
        exif=data if parsed else None, xmp=xmp or None, resolution=resolution, left_behind=tuple(left)
    )
    return Source(parsed, orientation, metadata)


def of_reduced(metadata: Metadata, factor: int) -> Metadata:
    """Return what is true of pixels that are larger by a factor."""
    resolution, acquisition = metadata.resolution, metadata.acquisition
    if resolution and resolution.unit != 1:
        resolution = replace(resolution, x=resolution.x / factor, y=resolution.y / factor)
    if acquisition and acquisition.pixel_width and acquisition.pixel_height:
        acquisition = replace(
            acquisition,
            pixel_width=acquisition.pixel_width * factor,
            pixel_height=acquisition.pixel_height * factor,
        )
    return replace(metadata, resolution=resolution, acquisition=acquisition)


def unknown_tags(exif: Exif) -> list[str]:
    """Name tags that are not carried over as nobody here knows what they say, as one thing of a list."""
    unknown = exif.unknown_tags()
    return [f"the tags {', '.join(f'0x{tag:04x}' for tag in unknown)}"] if unknown else []


def exif_for_file(metadata: Metadata, suffix: str, width: int, height: int) -> tuple[Exif | None, str | None]:
    """Return the EXIF data of a picture of this size, and what of it the format cannot hold."""
    parsed = parse_exif(metadata.exif) if metadata.exif else None
    if parsed is None:
        return None, None
    jpeg = suffix in (".jpg", ".jpeg")
    exif = parsed.for_picture(width, height, jpeg=jpeg)
    if not jpeg or len(exif.to_bytes()) <= _MAX_JPEG_EXIF:
        return exif, None
    exif = exif.without_maker_note()
    if len(exif.to_bytes()) <= _MAX_JPEG_EXIF:
        return exif, "the notes of the camera's maker, which are too long for a JPEG"
    return None, "EXIF data, which is too long for a JPEG"


def xmp_for_file(metadata: Metadata, suffix: str, width: int, height: int) -> bytes | None:
    """Return the XMP data of a picture of this size in this format, if the format can hold it."""
    if metadata.xmp is None or (suffix in (".jpg", ".jpeg") and len(metadata.xmp) > _MAX_JPEG_XMP):
        return None
    media = _MEDIA.get(suffix, "image/tiff")
    return xmp_for_picture(metadata.xmp, width, height, software=SOFTWARE, media=media)


def losses(metadata: Metadata, suffix: str, width: int, height: int) -> list[str]:
    """Say, in words to be listed, what a picture in this format will not have of the frame's metadata."""
    lost = list(metadata.left_behind)
    if without := exif_for_file(metadata, suffix, width, height)[1]:
        lost.append(without)
    if metadata.xmp and xmp_for_file(metadata, suffix, width, height) is None:
        lost.append("XMP data, which is too long for a JPEG")
    if suffix != ".png":
        chunks = [name.decode() for name, _ in metadata.png_colour]
        if "sRGB" not in chunks:  # as a picture without a profile is understood anyway
            lost += [f"the PNG chunk {name}" for name in chunks]
    if metadata.premultiplied and suffix not in (".tif", ".tiff"):
        lost.append("the mark that colours are multiplied by alpha")
    size = metadata.acquisition
    if size and suffix not in (".tif", ".tiff") and size.pixel_width:
        lost.append("the size of pixels")
    elif size and size.pixel_width and not is_length_of_ome(size.unit):
        lost.append(f"the unit of the size of pixels ({size.unit}), which OME-TIFF does not have")
    return lost


def _exif_resolution(exif: Exif) -> Resolution | None:
    across, down = (
        exif.main[tag].ratio(exif.order) if tag in exif.main else None for tag in (X_RESOLUTION, Y_RESOLUTION)
    )
    if not (across and down and all(across) and all(down)):
        return None
    unit = exif.main[RESOLUTION_UNIT].number(exif.order) if RESOLUTION_UNIT in exif.main else 2
    return Resolution(Fraction(*across), Fraction(*down), unit if unit in (1, 2, 3) else 1)
