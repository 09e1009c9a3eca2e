"""Building blocks of the page: sections, numbers, HTML elements and rectangles on images."""

import base64
import csv
import html
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from panfocus._intensity import IntensityScale
from panfocus.compare.pictures import Picture, encode_photo
from panfocus.decide.gray import to_gray
from panfocus.io.jpeg_webp import encode_webp


@dataclass(frozen=True)
class Number:
    """A measured value, and the value that the paper prints, if any."""

    part: str  # section of the page
    subject: str  # an image set, a mean over sets, a dictionary
    variant: str  # a method or a setting
    measure: str
    value: float
    paper: float | None = None


def encode_csv(numbers: Iterable[Number]) -> bytes:
    """Return a CSV table with one row per number; the paper's value may be empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Number))
    writer.writerows(astuple(number) for number in numbers)
    return text.getvalue().encode()


Colour = tuple[int, int, int]

RED: Colour = (235, 50, 45)
GREEN: Colour = (40, 190, 70)
PIXELS_PER_LINE = 130  # pixels of the shorter side per pixel of line width
FOCUSED, BLURRED = GREEN, RED  # as in the paper's Fig. 2


@dataclass(frozen=True)
class Box:
    """A rectangle of pixels."""

    top: int
    left: int
    height: int
    width: int

    @property
    def place(self) -> tuple[slice, slice]:
        """Rows and columns."""
        return slice(self.top, self.top + self.height), slice(self.left, self.left + self.width)


def to_rgb(image: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a grey or colour image with 8 bits and three channels."""
    unit = IntensityScale.of(image.dtype).to_unit(image)
    rgb = np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)
    return rgb if rgb.ndim == 3 else np.repeat(rgb[..., None], 3, axis=2)


def draw_boxes(image: NDArray[Any], boxes: Mapping[Colour, Box]) -> NDArray[np.uint8]:
    """Draw rectangles on a copy of an image, with lines that stay visible in a small view."""
    drawn = to_rgb(image).copy()
    line = max(2, round(min(drawn.shape[:2]) / PIXELS_PER_LINE))
    for colour, box in boxes.items():
        inside = drawn[box.place]
        content = inside[line:-line, line:-line].copy()
        inside[:] = colour
        inside[line:-line, line:-line] = content
    return drawn


def find_differences(results: Sequence[NDArray[Any]], n: int, share: float = 0.2) -> list[Box]:
    """Return the n separate squares in which the results of one scene differ most.

    The choice is automatic, so that it favours no method. `share` is the side of a square as a share of the
    shorter image side.
    """
    spread = np.std([to_gray(result) for result in results], axis=0, dtype=np.float64)
    side = max(1, round(share * min(spread.shape)))
    windows = uniform_filter(spread, side, mode="constant")
    # Only windows inside the image; element (i, j) is the window that starts there.
    half = side // 2
    starts = windows[
        half : half + spread.shape[0] - side + 1, half : half + spread.shape[1] - side + 1
    ].copy()
    boxes = []
    for _ in range(n):
        top, left = (int(i) for i in np.unravel_index(starts.argmax(), starts.shape))
        boxes.append(Box(top, left, side, side))
        starts[max(0, top - side + 1) : top + side, max(0, left - side + 1) : left + side] = -1
    return boxes


@dataclass(frozen=True)
class Section:
    """A section of the page and its numbers."""

    identity: str
    title: str
    body: str
    numbers: tuple[Number, ...] = ()


def tag(name: str, *content: str, **attributes: object) -> str:
    """Return an HTML element around content that is already HTML; `class_` sets the attribute class."""
    rendered = "".join(
        f' {key.rstrip("_")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{rendered}>{''.join(content)}</{name}>"


def escape(words: object) -> str:
    """Escape text for HTML."""
    return html.escape(str(words))


def paragraph(words: str) -> str:
    """Return a paragraph of plain text."""
    return tag("p", escape(words))


def table(head: Sequence[str], body: Sequence[str], caption: str = "") -> str:
    """Return a table of rows in a box that scrolls horizontally."""
    title = tag("caption", escape(caption)) if caption else ""
    return tag("div", tag("table", title, tag("thead", *head), tag("tbody", *body)), class_="wide")


def plain_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table of text and numbers; the first cell of a row is its heading."""
    return table(
        [tag("tr", *(tag("th", escape(cell), scope="col") for cell in head))],
        [
            tag("tr", tag("th", escape(first), scope="row"), *(tag("td", escape(cell)) for cell in rest))
            for first, *rest in rows
        ],
        caption,
    )


def figure(content: str, caption: str, class_: str | None = None) -> str:
    """Return images or a plot with a caption."""
    return tag("figure", content, tag("figcaption", escape(caption)), class_=class_)


def gallery(*figures: str, large: bool = False) -> str:
    """Return figures side by side, wrapped to the page width."""
    return tag("div", *figures, class_="large gallery" if large else "gallery")


def embed_image(image: NDArray[Any] | Picture, alt: str) -> str:
    """Return an image element with the image embedded; it may already be encoded."""
    picture = image if isinstance(image, Picture) else encode_photo(image)
    return _image(picture.webp, "image/webp", alt, picture.width, picture.height)


def embed_detail(detail: NDArray[np.uint8], alt: str, class_: str) -> str:
    """Return a lossless image element that shows pixels as squares."""
    return _image(encode_webp(detail), "image/webp", alt, detail.shape[1], detail.shape[0], class_)


def figure_with_details(image: NDArray[Any], boxes: Sequence[Box], name: str, alt: str) -> str:
    """Return an image with up to two rectangles, their content enlarged, and a caption."""
    details = [
        embed_detail(to_rgb(image)[box.place], f"detail of {alt}", class_)
        for class_, box in zip(("red", "green"), boxes, strict=False)
    ]
    outlines = dict(zip((RED, GREEN), boxes, strict=False))
    return figure(
        embed_image(draw_boxes(image, outlines), alt) + tag("div", *details, class_="details"), name
    )


def embed_svg(svg: str, alt: str) -> str:
    """Return an image element with an SVG drawing, which follows the colour scheme of the page."""
    return _image(svg.encode(), "image/svg+xml", alt)


def _image(
    data: bytes,
    kind: str,
    alt: str,
    width: int | None = None,
    height: int | None = None,
    class_: str | None = None,
) -> str:
    address = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    attributes = {"src": address, "alt": alt, "width": width, "height": height, "class_": class_}
    return tag("img", **attributes).removesuffix("</img>")
