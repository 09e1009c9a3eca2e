"""Curves, bars and the diagram of Fig. 1 as SVG that follows the colour scheme of the page."""

import io
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from panfocus.errors import missing_extra
from panfocus.reproduce.elements import Section, drawing
from panfocus.show.document import fill, read_part

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def _draw(panels: Mapping[str, Series], draw: Callable[["Axes", Series], None]) -> str:
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
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "var(--ink)").replace(_GRID, "var(--grid)")
    return svg.replace(">", f">{STYLE}", 1)


def diagram_section() -> Section:
    """Show the block diagram, Fig. 1."""
    diagram = fill(read_part("panfocus.reproduce", "diagram.svg"), style=STYLE)
    caption = (
        "From frames to the all-in-focus image. The box is the local fusion of Section III; the global "
        "reconstruction, Eq. (9), is optional."
    )
    return Section(
        "diagram", "Fig. 1: block diagram", drawing(diagram, "block diagram of the method", caption)
    )
