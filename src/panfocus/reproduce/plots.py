"""Curves and bars by matplotlib, as SVG that follows the light and dark of the page."""

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from panfocus.errors import missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#3b8fd0", "#e07b39", "#4aa564", "#b56fb0")  # told apart on white and on black
# Stand-ins, replaced in the finished drawing by colours that depend on the page's.
_INK, _GRID = "#010203", "#040506"
STYLE = (
    "<style>:root { --ink: #1b1d21; --muted: #5d636e; --grid: #d5d8de; --raised: #f4f5f7; } "
    "@media (prefers-color-scheme: dark) "
    "{ :root { --ink: #e6e8eb; --muted: #a0a7b3; --grid: #3a3f48; --raised: #202329; } }</style>"
)

Series = Mapping[str, Sequence[float]]


def check_matplotlib() -> None:
    """Say at once if the plots could not be drawn."""
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
    """Draw a panel for each measure, in each a curve for each variant; its best point is filled.

    `band` is what the paper calls best; `log_ticks` are the marks of a logarithmic axis.
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
    """Draw a panel for each measure, in each a bar for each group and variant, with its value."""

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
        "svg.hashsalt": "panfocus",  # the same drawing has the same bytes
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
