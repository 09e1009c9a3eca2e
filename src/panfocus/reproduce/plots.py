"""Curves, bars and the diagram of Fig. 1 as SVG that follows the colour scheme of the page."""

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from panfocus.errors import missing_extra
from panfocus.reproduce.elements import Section, embed_svg, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLOURS = ("#3b8fd0", "#e07b39", "#4aa564", "#b56fb0")  # distinct on white and on black
# Placeholders; the finished drawing has CSS variables of the page instead.
_INK, _GRID = "#010203", "#040506"
STYLE = (
    "<style>:root { --ink: #1b1d21; --muted: #5d636e; --grid: #d5d8de; --raised: #f4f5f7; } "
    "@media (prefers-color-scheme: dark) "
    "{ :root { --ink: #e6e8eb; --muted: #a0a7b3; --grid: #3a3f48; --raised: #202329; } }</style>"
)

Series = Mapping[str, Sequence[float]]


def check_matplotlib() -> None:
    """Raise if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise missing_extra("The reproduction", "matplotlib", "reproduce")


def curves(
    x: Sequence[float],
    panels: Mapping[str, Series],
    *,
    x_label: str,
    band: tuple[float, float] | None = None,
    log_ticks: Sequence[float] | None = None,
) -> str:
    """Draw a panel per measure with a curve per variant. The best point of a curve is filled.

    `band` is the range that the paper calls best; `log_ticks` are the ticks of a logarithmic axis.
    """

    def draw(axes: "Axes", series: Series) -> None:
        if band:
            axes.axvspan(*band, color=_GRID, alpha=0.6, linewidth=4)
        for (name, values), colour in zip(series.items(), COLOURS, strict=False):
            axes.plot(x, values, marker="o", markersize=3.5, color=colour, mfc="none", label=name)
            best = int(np.argmax(values))
            axes.plot(x[best], values[best], marker="o", markersize=7, color=colour)
        if log_ticks:
            axes.set_xscale("log")
            axes.set_xticks(log_ticks, [f"{value:g}" for value in log_ticks])
            axes.minorticks_off()
        axes.set_xlabel(x_label)

    return _draw(panels, draw)


def bars(groups: Sequence[str], panels: Mapping[str, Series]) -> str:
    """Draw a panel per measure with a labelled bar per group and variant."""

    def draw(axes: "Axes", series: Series) -> None:
        width = 0.84 / len(series)
        for i, ((name, values), colour) in enumerate(zip(series.items(), COLOURS, strict=False)):
            places = np.arange(len(groups)) + (i - (len(series) - 1) / 2) * width
            drawn = axes.bar(places, values, 0.92 * width, color=colour, label=name)
            axes.bar_label(drawn, fmt="%.3f", rotation=90, padding=2, fontsize=7, color=_INK)
        axes.set_xticks(range(len(groups)), groups)
        axes.margins(y=0.18)

    return _draw(panels, draw)


def _draw(panels: Mapping[str, Series], draw: Any) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "svg.hashsalt": "panfocus",  # makes the bytes reproducible
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _GRID,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "grid.color": _GRID,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(4.6 * len(panels), 3.2), layout="constrained")
        for axes, (title, series) in zip(
            np.ravel(figure.subplots(1, len(panels))), panels.items(), strict=True
        ):
            draw(axes, series)
            axes.set_title(title)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        return _as_svg(figure)


def _as_svg(figure: "Figure") -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :].replace(_INK, "var(--ink)").replace(_GRID, "var(--grid)")
    head, bracket, rest = drawing.partition(">")
    return head + bracket + STYLE + rest


_WIDTH, _HEIGHT = 1000, 330

# Blocks: title, second line, centre, width.
_BLOCKS = (
    ("Coupled dictionary", "learning", (500, 55), 190),
    ("Patch", "extraction", (190, 205), 120),
    ("Sparse", "approximation", (395, 205), 140),
    ("Selection", "Eq. (7)", (570, 205), 110),
    ("Reconstruction of", "initial image", (775, 205), 150),
    ("Global", "reconstruction", (775, 305), 150),
)
_HALF_HEIGHT = 24

# Arrows: points, label, position and anchor of the label.
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


def diagram_section() -> Section:
    """Show the block diagram, Fig. 1."""
    caption = (
        "From frames to the all-in-focus image. The box is the local fusion of Section III; the global "
        "reconstruction, Eq. (9), is optional."
    )
    return Section(
        "diagram",
        "Fig. 1: block diagram",
        figure(embed_svg(block_diagram(), "block diagram of the method"), caption, class_="drawn"),
    )


def block_diagram() -> str:
    """Return the diagram of Fig. 1 as SVG."""
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
    """Turn ^ and _ into superscripts and subscripts."""
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
