"""Fig. 8 to 12: the fused pictures, with magnified details."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from panfocus.refine import PAPER_STRENGTH
from panfocus.reproduce.drawing import most_different
from panfocus.reproduce.elements import Section, gallery, paragraph, tag, text, with_details
from panfocus.reproduce.reconstruction import Reconstructions
from panfocus.reproduce.rivals import PROPOSED, RIVAL
from panfocus.reproduce.sets import Pictures
from panfocus.reproduce.tables import Results

AFTER = "Proposed, after global reconstruction"
GREY_FIGURES = {"Clocks": "Fig. 8", "Doll": "Fig. 9", "Pepsi": "Fig. 10"}
COLOUR_FIGURES = {"Diver": "Fig. 11", "Keyboard": "Fig. 12"}
# In the order of the paper's figures.
ORDER = ("DWT", "PCA", "SR-FM", "DSIFT", "SR-CM", RIVAL, PROPOSED)


def section(grey: Results, colour: Results, reconstructions: Reconstructions) -> Section:
    """Show what the paper shows, as far as the sets are there."""
    body = paragraph(
        "Red and green: the two places in which the methods' results differ most, chosen by the program, "
        "enlarged below each picture with pixels as squares. The paper's own rectangles are not known."
    )
    for name, number in GREY_FIGURES.items():
        if name in grey.sets:
            results = {method: grey.fused[method, name].image for method in ORDER}
            results[AFTER] = reconstructions.made[name, PAPER_STRENGTH].image
            body += _figures(f"{number}: {name}", grey.sets[name], results)
    for name, number in COLOUR_FIGURES.items():
        results = {method: colour.fused[method, name].image for method in (RIVAL, PROPOSED)}
        body += _figures(f"{number}: {name}", colour.sets[name], results)
    return Section("fused pictures", "Fig. 8 to 12: fused pictures", body)


def _figures(title: str, pictures: Pictures, results: Mapping[str, NDArray[Any]]) -> str:
    boxes = most_different(list(results.values()), 2)
    frames = {f"frame {letter}": frame for letter, frame in zip("ABC", pictures.frames, strict=False)}
    return tag("h3", text(title)) + gallery(
        *(
            with_details(image, boxes, name, f"{pictures.name}, {name}")
            for name, image in (frames | dict(results)).items()
        )
    )
