"""XMP data, a text in XML: made true for a picture that was turned upright and has another size.

It is edited where it stands, not parsed and written anew: every other byte stays as it was.
"""

import re

_SIZES = (rb"tiff:ImageWidth|exif:PixelXDimension", rb"tiff:ImageLength|exif:PixelYDimension")
# A small picture of the frame, and the number under which more data lies elsewhere in its JPEG.
_THUMBNAILS = (b"xmp:Thumbnails", b"xap:Thumbnails")
_MORE_ELSEWHERE = b"xmpNote:HasExtendedXMP"
_AS_ATTRIBUTE = re.compile(rb"""\s%s\s?=\s?["'][^"']{0,99}["']""" % _MORE_ELSEWHERE)


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
        xmp = _property(names, rb"""[^<>"']{0,999}""").sub(rb"\g<before>%s\g<after>" % words.encode(), xmp)
    for name in (*_THUMBNAILS, _MORE_ELSEWHERE):
        xmp = _without_element(xmp, name)
    return _AS_ATTRIBUTE.sub(b"", xmp)


def goes_on_elsewhere(xmp: bytes) -> bool:
    """Say whether it is only the first part, the others being in places of a JPEG that are not read."""
    return _MORE_ELSEWHERE in xmp


def _without_element(xmp: bytes, name: bytes) -> bytes:
    """Take out an element, of which there is one at most."""
    start, closing = xmp.find(b"<" + name), b"</" + name + b">"
    end = xmp.find(closing, start)
    return xmp if start < 0 or end < 0 else xmp[:start] + xmp[end + len(closing) :]


def _property(names: bytes, value: bytes = rb"\d{1,9}") -> re.Pattern[bytes]:
    """Match a property by name, written as an attribute or as an element."""
    return re.compile(
        rb"""(?P<before>(?<=[\s<])(?:%s)(?:\s*=\s*["']|\s*>\s*))(?P<value>%s)(?P<after>["']|\s*</)"""
        % (names, value)
    )
