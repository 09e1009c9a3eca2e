"""Building blocks of the page: sections, numbers, HTML elements and rectangles on images."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from panfocus.compare.pictures import Picture, data_url, encode_photo, encode_picture
from panfocus.decide.gray import to_gray


@dataclass(frozen=True)
class Number:
    """A measured value, and the value that the paper prints, if any."""

    subject: str  # an image set, a mean over sets, a dictionary
    variant: str  # a method or a setting
    measure: str
    value: float
    paper: float | None = None


Colour = tuple[int, int, int]

RED: Colour = (235, 50, 45)
GREEN: Colour = (40, 190, 70)
PIXELS_PER_LINE = 130  # pixels of the shorter side per pixel of line width


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


def to_rgb(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a grey or colour image with three channels."""
    return image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)


def draw_boxes(image: NDArray[np.uint8], boxes: Mapping[Colour, Box]) -> NDArray[np.uint8]:
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

    @property
    def anchor(self) -> str:
        """Target of links to the section."""
        return self.identity.replace(" ", "-")


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


def head_row(headings: Iterable[str]) -> str:
    """Return a row of column headings."""
    return tag("tr", *(tag("th", escape(heading), scope="col") for heading in headings))


def plain_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table of text and numbers; the first cell of a row is its heading."""
    return table(
        [head_row(head)],
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


def embed_image(image: NDArray[Any] | Picture, alt: str, class_: str | None = None) -> str:
    """Return an image element with the image embedded; it may already be encoded."""
    picture = image if isinstance(image, Picture) else encode_photo(image)
    return _image(picture.address, alt, width=picture.width, height=picture.height, class_=class_)


def figure_with_details(image: NDArray[np.uint8], boxes: Sequence[Box], name: str, alt: str) -> str:
    """Return an image with up to two rectangles, their content enlarged, and a caption."""
    details = [
        embed_image(encode_picture(to_rgb(image)[box.place]), f"detail of {alt}", class_)
        for class_, box in zip(("red", "green"), boxes, strict=False)
    ]
    outlines = dict(zip((RED, GREEN), boxes, strict=False))
    return figure(
        embed_image(draw_boxes(image, outlines), alt) + tag("div", *details, class_="details"), name
    )


def drawing(svg: str, alt: str, caption: str) -> str:
    """Return an SVG drawing, which follows the colour scheme of the page, with a caption."""
    return figure(_image(data_url(svg.encode(), "image/svg+xml"), alt), caption, "drawn")


def _image(address: str, alt: str, **attributes: object) -> str:
    return tag("img", src=address, alt=alt, **attributes).removesuffix("</img>")
