"""The parts of the page: tables, pictures, plots. What they are given as text is escaped here."""

import base64
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from panfocus.compare.pictures import Picture, photograph
from panfocus.io.jpeg_webp import encode_webp
from panfocus.reproduce.drawing import GREEN, RED, Box, as_rgb, outlined
from panfocus.reproduce.numbers import Number


@dataclass(frozen=True)
class Section:
    """A part of the page, and the numbers in it."""

    identity: str
    title: str
    body: str
    numbers: tuple[Number, ...] = ()


def tag(name: str, *content: str, **attributes: object) -> str:
    """Return an element around content that is HTML already; `class_` is the attribute class."""
    given = "".join(
        f' {key.rstrip("_")}="{html.escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(content)}</{name}>"


def text(words: object) -> str:
    """Return words that may hold any character."""
    return html.escape(str(words))


def paragraph(words: str) -> str:
    """Return a paragraph of plain words."""
    return tag("p", text(words))


def table(head: Sequence[str], body: Sequence[str], caption: str = "") -> str:
    """Return a table of rows, in a box that scrolls if it is too wide."""
    title = tag("caption", text(caption)) if caption else ""
    return tag("div", tag("table", title, tag("thead", *head), tag("tbody", *body)), class_="wide")


def plain_table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table of words and numbers, the first of a row being its heading."""
    return table(
        [tag("tr", *(tag("th", text(cell), scope="col") for cell in head))],
        [
            tag("tr", tag("th", text(first), scope="row"), *(tag("td", text(cell)) for cell in rest))
            for first, *rest in rows
        ],
        caption,
    )


def figure(content: str, caption: str, class_: str | None = None) -> str:
    """Return pictures or a plot, and words below."""
    return tag("figure", content, tag("figcaption", text(caption)), class_=class_)


def gallery(*figures: str, large: bool = False) -> str:
    """Return figures side by side, as many as there is room for."""
    return tag("div", *figures, class_="large gallery" if large else "gallery")


def shown(image: NDArray[Any] | Picture, alt: str) -> str:
    """Return a photograph, or a picture that is encoded already."""
    picture = image if isinstance(image, Picture) else photograph(image)
    return _image(picture.webp, "image/webp", alt, picture.width, picture.height)


def enlarged(detail: NDArray[np.uint8], alt: str, class_: str) -> str:
    """Return a small piece without loss, its pixels shown as squares."""
    return _image(encode_webp(detail), "image/webp", alt, detail.shape[1], detail.shape[0], class_)


def with_details(image: NDArray[Any], boxes: Sequence[Box], name: str, alt: str) -> str:
    """Return a picture with up to two rectangles on it, what is in them enlarged, and its name."""
    details = [
        enlarged(as_rgb(image)[box.place], f"detail of {alt}", class_)
        for class_, box in zip(("red", "green"), boxes, strict=False)
    ]
    outlines = dict(zip((RED, GREEN), boxes, strict=False))
    return figure(shown(outlined(image, outlines), alt) + tag("div", *details, class_="details"), name)


def drawing(svg: str, alt: str) -> str:
    """Return a drawing that follows the light and dark of the page."""
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
