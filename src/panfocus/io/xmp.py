"""XMP data, a text in XML: made true for a picture that was turned upright and has another size.

It is edited where it stands, not parsed and written anew: every other byte stays as it was.
"""

import re

_SIZES = (rb"tiff:ImageWidth|exif:PixelXDimension", rb"tiff:ImageLength|exif:PixelYDimension")
# A small picture of the frame, and the number under which more data lies elsewhere in its JPEG.
_THUMBNAILS = re.compile(rb"<(xmp|xap):Thumbnails\b.*?</\1:Thumbnails>", re.DOTALL)
_MORE_ELSEWHERE = re.compile(
    rb"""\s+xmpNote:HasExtendedXMP\s*=\s*("[^"]*"|'[^']*')|<(xmpNote:HasExtendedXMP)\b.*?</\2>""", re.DOTALL
)


def orientation_of(xmp: bytes | None) -> int:
    """Return how the camera was held, 1 to 8; 1 also where nothing is said."""
    found = _property(rb"tiff:Orientation").search(xmp or b"")
    number = int(found["value"]) if found else 1
    return number if 1 <= number <= 8 else 1


def xmp_for_picture(xmp: bytes, width: int, height: int, *, software: str, media: str) -> bytes:
    """Return what is true of a picture that was turned upright, has this size, and was made by us."""
    xmp = _property(rb"tiff:Orientation").sub(rb"\g<before>1\g<after>", xmp)
    for names, number in zip(_SIZES, (width, height), strict=True):
        xmp = _property(names).sub(rb"\g<before>%d\g<after>" % number, xmp)
    for names, words in ((rb"xmp:CreatorTool|tiff:Software", software), (rb"dc:format", media)):
        xmp = _property(names, rb"""[^<>"']*""").sub(rb"\g<before>%s\g<after>" % words.encode(), xmp)
    return _MORE_ELSEWHERE.sub(b"", _THUMBNAILS.sub(b"", xmp))


def goes_on_elsewhere(xmp: bytes) -> bool:
    """Say whether it is only the first part, the others being in places of a JPEG that are not read."""
    return _MORE_ELSEWHERE.search(xmp) is not None


def _property(names: bytes, value: bytes = rb"\d{1,9}") -> re.Pattern[bytes]:
    """Match a property by name, written as an attribute or as an element."""
    return re.compile(
        rb"""(?P<before>(?<=[\s<])(?:%s)(?:\s*=\s*["']|\s*>\s*))(?P<value>%s)(?P<after>["']|\s*</)"""
        % (names, value)
    )
