"""Fig. 1: the block diagram of the method."""

from panfocus.reproduce.elements import Section, drawing, figure
from panfocus.reproduce.plots import STYLE

_WIDTH, _HEIGHT = 1000, 330

# Title, second line, centre, width.
_BLOCKS = (
    ("Coupled dictionary", "learning", (500, 55), 190),
    ("Patch", "extraction", (190, 205), 120),
    ("Sparse", "approximation", (395, 205), 140),
    ("Selection", "Eq. (7)", (570, 205), 110),
    ("Reconstruction of", "initial image", (775, 205), 150),
    ("Global", "reconstruction", (775, 305), 150),
)
_HALF_HEIGHT = 24

# A line through points, and what flows along it with the place of its label.
_FLOWS = (
    ([(270, 55), (405, 55)], "training patches {X^F, X^B}", (262, 60), "end"),
    ([(595, 55), (650, 55), (650, 110), (395, 110), (395, 181)], "D = [D^F, D^B]", (662, 87), "start"),
    ([(90, 205), (130, 205)], "{I_k}", (82, 210), "end"),
    ([(250, 205), (325, 205)], "{i_k}", (287, 196), "middle"),
    ([(465, 205), (515, 205)], "{α_k}", (490, 196), "middle"),
    ([(625, 205), (700, 205)], "mask k^F", (661, 196), "middle"),
    ([(270, 205), (270, 258), (735, 258), (735, 229)], "patches {i_k}", (490, 251), "middle"),
    ([(850, 205), (905, 205)], "I^F_0", (913, 210), "start"),
    ([(815, 229), (815, 281)], "", (0, 0), "start"),
    ([(850, 305), (905, 305)], "I^F", (913, 310), "start"),
)


def section() -> Section:
    """Show the diagram."""
    caption = (
        "From frames to the all-in-focus picture. The box is the local fusion of Section III; the global "
        "reconstruction, Eq. (9), is optional."
    )
    return Section(
        "diagram",
        "Fig. 1: block diagram",
        figure(drawing(block_diagram(), "block diagram of the method"), caption, class_="drawn"),
    )


def block_diagram() -> str:
    """Return the diagram as SVG."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="system-ui, sans-serif" font-size="14">{STYLE}'
        '<defs><marker id="tip" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="var(--ink)"/></marker></defs>'
        '<rect x="310" y="150" width="555" height="122" rx="8" fill="none" stroke="var(--muted)" '
        'stroke-dasharray="5 4"/><text x="318" y="167" fill="var(--muted)">Fusion</text>'
        f"{''.join(_flow(*flow) for flow in _FLOWS)}{''.join(_block(*block) for block in _BLOCKS)}</svg>"
    )


def _block(title: str, second: str, centre: tuple[int, int], width: int) -> str:
    x, y = centre
    return (
        f'<rect x="{x - width / 2}" y="{y - _HALF_HEIGHT}" width="{width}" height="{2 * _HALF_HEIGHT}" '
        'rx="6" fill="var(--raised)" stroke="var(--ink)"/>'
        f'<g fill="var(--ink)" text-anchor="middle"><text x="{x}" y="{y - 4}">{title}</text>'
        f'<text x="{x}" y="{y + 14}">{second}</text></g>'
    )


def _flow(points: list[tuple[int, int]], label: str, place: tuple[int, int], anchor: str) -> str:
    line = " ".join(f"{x},{y}" for x, y in points)
    x, y = place
    return (
        f'<polyline points="{line}" fill="none" stroke="var(--ink)" marker-end="url(#tip)"/>'
        f'<text x="{x}" y="{y}" fill="var(--ink)" text-anchor="{anchor}" font-style="italic">'
        f"{_indexed(label)}</text>"
    )


def _indexed(label: str) -> str:
    """Set ^ and _ as raised and lowered letters."""
    parts, shift = [], {"^": ("-0.4em", "0.4em"), "_": ("0.3em", "-0.3em")}
    position = 0
    while position < len(label):
        character = label[position]
        if character in shift:
            there, back = shift[character]
            parts.append(f'<tspan dy="{there}" font-size="10">{label[position + 1]}</tspan>')
            parts.append(f'<tspan dy="{back}" font-size="10">&#8203;</tspan>')
            position += 2
        else:
            parts.append(character)
            position += 1
    return "".join(parts)
