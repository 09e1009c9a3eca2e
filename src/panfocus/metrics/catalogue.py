"""All metrics in one table, and `score`, which computes them together.

To add a metric, follow "Add a metric" in CONTRIBUTING.md. Other packages register theirs as entry points of
the group `panfocus.metrics`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from numpy.typing import ArrayLike

from panfocus.errors import InputError
from panfocus.metrics._images import UndefinedError
from panfocus.metrics.fmi import fmi
from panfocus.metrics.information import nmi, qncie, te
from panfocus.metrics.no_reference import ag, ei, en, sd, sf
from panfocus.metrics.qabf import qabf
from panfocus.metrics.qcb import qcb
from panfocus.metrics.qp import qp
from panfocus.metrics.reference import mse, psnr, psnr_rgb, ssim
from panfocus.metrics.scd import scd
from panfocus.metrics.similarity import qc, qw, qy
from panfocus.metrics.viff import viff


@dataclass(frozen=True)
class Metric:
    """A metric and its description for tables.

    Attributes
    ----------
    key : str
        Name in scores and tables.
    title : str
        Full name.
    kind : {"sources", "reference", "single"}
        What the fused image is compared with: its sources, a reference, or nothing.
    better : {"larger", "smaller"}
        Which values are better.
    summary : str
        What the metric measures, in one line.
    function : callable
        Called with (sources, fused), (reference, fused) or (fused), by kind, and `data_range=`.
    pairs_only : bool
        Whether the metric is defined for exactly two sources.
    colour : bool
        Whether the metric compares colour images (h, w, 3) instead of grey planes.
    """

    key: str
    title: str
    kind: Literal["sources", "reference", "single"]
    better: Literal["larger", "smaller"]
    summary: str
    function: Callable[..., float]
    pairs_only: bool = False
    colour: bool = False


CATALOGUE: tuple[Metric, ...] = (
    Metric("NMI", "Normalised mutual information", "sources", "larger",
           "information that the fused image shares with its sources", nmi),
    Metric("QABF", "Q^AB/F after Xydeas and Petrovic", "sources", "larger",
           "preservation of the sources' edges", qabf),
    Metric("QABF_zliu", "Q^AB/F with Z. Liu's constants", "sources", "larger",
           "the same with other constants; not comparable with QABF", partial(qabf, variant="z-liu")),
    Metric("QNCIE", "Nonlinear correlation information entropy", "sources", "larger",
           "dependence among the fused image and all sources", qncie),
    Metric("TE", "Tsallis mutual information", "sources", "larger",
           "shared information; rare levels count most", te),
    Metric("QY", "Yang's structural similarity", "sources", "larger",
           "similarity to all sources where they agree, else to the most similar one", qy),
    Metric("QCB", "Chen and Blum's visible contrast", "sources", "larger",
           "preservation of the contrast that an eye sees", qcb),
    Metric("FMI", "Feature mutual information", "sources", "larger",
           "information about the sources' edges in small windows", fmi),
    Metric("VIFF", "Visual information fidelity for fusion", "sources", "larger",
           "preservation of the information that an eye sees", viff),
    Metric("QP", "Zhao's phase congruency", "sources", "larger",
           "preservation of edges and corners of any contrast", qp),
    Metric("QW", "Piella's weighted quality index", "sources", "larger",
           "similarity to the sources where they have contrast", qw),
    Metric("QC", "Cvejic's quality index", "sources", "larger",
           "similarity to the source that the fused image follows", qc),
    Metric("SCD", "Sum of the correlations of differences", "sources", "larger",
           "whether each source adds what the other lacks; two sources only", scd, pairs_only=True),
    Metric("SF", "Spatial frequency", "single", "larger",
           "root mean square difference of neighbouring pixels", sf),
    Metric("AG", "Average gradient", "single", "larger",
           "mean difference of neighbouring pixels", ag),
    Metric("EN", "Entropy", "single", "larger",
           "spread of the grey levels, in bits", en),
    Metric("SD", "Standard deviation", "single", "larger",
           "contrast within the columns", sd),
    Metric("EI", "Edge intensity", "single", "larger",
           "mean Sobel magnitude", ei),
    Metric("SSIM", "Structural similarity", "reference", "larger",
           "similarity in luminance, contrast and structure", ssim),
    Metric("MSE", "Mean squared error", "reference", "smaller",
           "squared difference, on a scale of 0..255", mse),
    Metric("PSNR", "Peak signal-to-noise ratio", "reference", "larger",
           "squared difference as a ratio to white, in dB", psnr),
    Metric("PSNR_RGB", "Peak signal-to-noise ratio of colour", "reference", "larger",
           "the same over red, green and blue instead of grey", psnr_rgb, colour=True),
)  # fmt: skip

# Metrics with a reference that are customarily computed against each source as well.
_PER_SOURCE = ("SSIM", "MSE")


def metric_names() -> list[str]:
    """Return the keys of all metrics, built in and registered by other packages."""
    return list(_known())


def get_metric(key: str) -> Metric:
    """Return the metric of a key of `score`, such as `SSIM` or, for one source, `SSIM_AF`."""
    known = _known()
    name = key if key in known or _source_of(key) is None else key.rpartition("_")[0]
    if name not in known:
        single = "; ".join(f"{name}_AF, {name}_BF and so on" for name in _PER_SOURCE)
        raise InputError(
            f"Unknown metric {key!r}. Known metrics: {', '.join(known)}. For one source: {single}.",
            setting="metrics",
            got=key,
        )
    return known[name]


def _known() -> dict[str, Metric]:
    return {metric.key: metric for metric in (*CATALOGUE, *_registered())}


@cache  # searches every installed package
def _registered() -> tuple[Metric, ...]:
    return tuple(
        Metric(entry.name, entry.name, "sources", "larger", f"from {entry.value}", partial(_call, entry))
        for entry in entry_points(group="panfocus.metrics")
    )


def _call(entry: EntryPoint, sources: Sequence[Any], fused: Any, *, data_range: float | None) -> float:
    """Call a registered metric, which takes the sources and the fused image only."""
    return float(entry.load()(sources, fused))


def explain_undefined(key: str, *, n_sources: int, reference: bool) -> str | None:
    """Return why a metric has no value for this number of sources, with or without a reference.

    None means that it has one, unless the images are too small or grey, which the metric itself checks.
    """
    metric, source = get_metric(key), _source_of(key)
    if source is not None:
        n_needed = source_number(source)
        return f"{key} needs {n_needed} sources, got {n_sources}." if n_sources < n_needed else None
    if metric.kind == "reference" and not reference:
        return f"{key} needs a reference."
    if metric.pairs_only and n_sources > 2:
        return f"{key} needs exactly two sources, got {n_sources}."
    return None


def _source_of(key: str) -> str | None:
    """Return the letters of the source that a key such as SSIM_AF compares with."""
    match = re.fullmatch(f"(?:{'|'.join(_PER_SOURCE)})_([A-Z]+)F", key)
    return match[1] if match else None


def score(
    sources: Sequence[ArrayLike],
    fused: ArrayLike,
    *,
    reference: ArrayLike | None = None,
    colours: tuple[ArrayLike, ArrayLike] | None = None,
    data_range: float | None = None,
    keys: Collection[str] | None = None,
    complete: bool = False,
) -> dict[str, float]:
    """Score a fused image by all metrics that are defined for it.

    Parameters
    ----------
    sources, fused, data_range
        See `panfocus.metrics`.
    reference : array (h, w), optional
        The grey reference. It adds the metrics of kind "reference".
    colours : pair of arrays (h, w, 3), optional
        The reference and the fused image in colour, for PSNR_RGB; alpha is ignored.
    keys : collection of str, optional
        Keys of the values to compute; by default all.
    complete : bool
        Whether a requested key without a value is an error instead of being left out.

    Returns
    -------
    dict
        Value by key, in the order of the catalogue. `SSIM_AF`, `SSIM_BF`, ... and `MSE_AF`, ... compare the
        fused image with the first source, the second, and so on. Metrics without a value are left out:
        reference metrics without a reference, PSNR_RGB without colour images, SCD for more than two sources,
        and metrics whose windows are larger than the image. PSNR of equal images is infinite.
    """
    for key in keys or ():
        reason = explain_undefined(key, n_sources=len(sources), reference=reference is not None)
        if complete and reason:
            raise UndefinedError(reason, setting="metrics", got=key)
    scores: dict[str, float] = {}
    for key, metric, arguments in _comparisons(sources, fused, reference, colours):
        if keys is None or key in keys:
            try:
                scores[key] = metric.function(*arguments, data_range=data_range)
            except UndefinedError:
                if complete:
                    raise
    return scores


def _comparisons(
    sources: Sequence[ArrayLike],
    fused: ArrayLike,
    reference: ArrayLike | None,
    colours: tuple[ArrayLike, ArrayLike] | None,
) -> Iterator[tuple[str, Metric, tuple[ArrayLike | Sequence[ArrayLike], ...]]]:
    """Yield key, metric and the arguments of the metric."""
    for metric in _known().values():
        if metric.kind == "sources":
            yield metric.key, metric, (sources, fused)
        elif metric.kind == "single":
            yield metric.key, metric, (fused,)
        elif reference is not None:
            yield metric.key, metric, colours if metric.colour and colours else (reference, fused)
        if metric.key in _PER_SOURCE:
            for i, source in enumerate(sources):
                yield f"{metric.key}_{source_letters(i)}F", metric, (source, fused)


def source_letters(index: int) -> str:
    """Return the name of a source, like a spreadsheet column: A, B, ..., Z, AA, AB, ..."""
    rest, last = divmod(index, 26)
    return (source_letters(rest - 1) if rest else "") + chr(ord("A") + last)


def source_number(letters: str) -> int:
    """Return the number of a source by its letters: 1 for A, 26 for Z, 27 for AA."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
