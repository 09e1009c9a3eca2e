"""All metrics in one table, for whoever scores a result or lays out scores."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from numpy.typing import ArrayLike

from panfocus.errors import InputError
from panfocus.metrics._inputs import UndefinedError
from panfocus.metrics.ag import ag
from panfocus.metrics.ei import ei
from panfocus.metrics.en import en
from panfocus.metrics.fmi import fmi
from panfocus.metrics.mse import mse
from panfocus.metrics.nmi import nmi
from panfocus.metrics.psnr import psnr
from panfocus.metrics.psnr_rgb import psnr_rgb
from panfocus.metrics.qabf import qabf
from panfocus.metrics.qc import qc
from panfocus.metrics.qcb import qcb
from panfocus.metrics.qncie import qncie
from panfocus.metrics.qp import qp
from panfocus.metrics.qw import qw
from panfocus.metrics.qy import qy
from panfocus.metrics.scd import scd
from panfocus.metrics.sd import sd
from panfocus.metrics.sf import sf
from panfocus.metrics.ssim import ssim
from panfocus.metrics.te import te
from panfocus.metrics.viff import viff


@dataclass(frozen=True)
class Metric:
    """What a table needs to know of a metric."""

    key: str  # the name in scores and tables
    title: str
    kind: Literal["sources", "reference", "single"]  # what the fused image is compared with, if anything
    better: Literal["larger", "smaller"]
    says: str  # in one line
    function: Callable[..., float]  # (sources, fused), (reference, fused) or (fused), and data_range=
    pairs_only: bool = False  # more than two sources have no value
    colour: bool = False  # compares colours (h, w, 3); all others take grey planes


CATALOGUE: tuple[Metric, ...] = (
    Metric("NMI", "Normalised mutual information", "sources", "larger",
           "information that the fused image shares with its sources", nmi),
    Metric("QABF", "Q^AB/F after Xydeas and Petrovic", "sources", "larger",
           "edges of the sources that the fused image keeps", qabf),
    Metric("QABF_zliu", "Q^AB/F with Z. Liu's constants", "sources", "larger",
           "the same with other constants; never to be mixed with QABF", partial(qabf, variant="z-liu")),
    Metric("QNCIE", "Nonlinear correlation information entropy", "sources", "larger",
           "dependence among the fused image and all sources", qncie),
    Metric("TE", "Tsallis mutual information", "sources", "larger",
           "information that is shared, rare levels counting most", te),
    Metric("QY", "Yang's structural similarity", "sources", "larger",
           "likeness to all sources where they agree, else to the best", qy),
    Metric("QCB", "Chen and Blum's visible contrast", "sources", "larger",
           "contrast of the sources, as an eye sees it, that is kept", qcb),
    Metric("FMI", "Feature mutual information", "sources", "larger",
           "information about the sources' edges in small windows", fmi),
    Metric("VIFF", "Visual information fidelity for fusion", "sources", "larger",
           "information about the sources that reaches an eye", viff),
    Metric("QP", "Zhao's phase congruency", "sources", "larger",
           "edges and corners of the sources, whatever their contrast, that are kept", qp),
    Metric("QW", "Piella's weighted quality index", "sources", "larger",
           "likeness to the sources where they have contrast", qw),
    Metric("QC", "Cvejic's quality index", "sources", "larger",
           "likeness to the source that the fused image follows", qc),
    Metric("SCD", "Sum of the correlations of differences", "sources", "larger",
           "whether what one source lacks comes from the other; two sources only", scd, pairs_only=True),
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
           "likeness in luminance, contrast and structure", ssim),
    Metric("MSE", "Mean squared error", "reference", "smaller",
           "squared difference, on a scale of 0..255", mse),
    Metric("PSNR", "Peak signal-to-noise ratio", "reference", "larger",
           "squared difference as a ratio to white, in dB", psnr),
    Metric("PSNR_RGB", "Peak signal-to-noise ratio of colour", "reference", "larger",
           "the same of red, green and blue together, not of grey", psnr_rgb, colour=True),
)  # fmt: skip

# Metrics against a reference that are customary between the fused image and each source as well.
_PER_SOURCE = ("SSIM", "MSE")

_BY_KEY = {metric.key: metric for metric in CATALOGUE}


def metric_of(key: str) -> Metric:
    """Return the metric behind a key of `score`: of `SSIM`, and also of `SSIM_AF`, `SSIM_BF`, ..."""
    if key not in _BY_KEY and _source_of(key) is None:
        single = " and ".join(f"{name}_AF, {name}_BF, ..." for name in _PER_SOURCE)
        raise InputError(
            f"there is no metric {key!r}; known: {', '.join(_BY_KEY)}, and of one source {single}"
        )
    return _BY_KEY[key if key in _BY_KEY else key.rpartition("_")[0]]


def why_undefined(key: str, *, n_sources: int, reference: bool) -> str | None:
    """Say why a key has no value for so many sources, with or without a reference; None if it has one.

    That the images are too small for its windows, or grey where it compares colours, the metric says itself.
    """
    metric, source = metric_of(key), _source_of(key)
    if source is not None:
        n_needed = source_number(source)
        return f"{key} needs {n_needed} sources, there are {n_sources}" if n_sources < n_needed else None
    if metric.kind == "reference" and not reference:
        return f"{key} needs a reference"
    if metric.pairs_only and n_sources > 2:
        return f"{key} is defined for two sources only, there are {n_sources}"
    return None


def _source_of(key: str) -> str | None:
    """Return the letters of the source that a key such as SSIM_AF compares with."""
    name, _, pair = key.rpartition("_")
    source = pair.removesuffix("F")
    compares = name in _PER_SOURCE and pair.endswith("F") and source.isascii() and source.isalpha()
    return source if compares and source.isupper() else None


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
    sources : sequence of arrays (h, w)
        Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's type.
    fused : array (h, w)
        The grey fused image.
    reference : array (h, w), optional
        The grey image that counts as right. With it, the metrics of kind "reference" are given.
    colours : pair of arrays (h, w, 3), optional
        The reference and the fused image in colour, for PSNR_RGB; alpha does not count.
    data_range : float, optional
        The value of white, black being 0. Integers take their type's largest value by default (12-bit
        values in uint16 need 4095); floats must give it.
    keys : collection of str, optional
        The values that are wanted, by key; all of them by default.
    complete : bool
        Whether a wanted key that has no value is an error, which says why, instead of being left out.

    Returns
    -------
    dict
        Value by key, in the order of the catalogue. `SSIM_AF`, `SSIM_BF`, ... and `MSE_AF`, ... compare the
        fused image with the first source, the second, and so on. What has no value is left out: the
        likeness to a reference without one, PSNR_RGB without two pictures in colour, SCD for more than two
        sources, windows that are larger than the image. PSNR of equal images is infinite.
    """
    wanted = None if keys is None else {key: metric_of(key) for key in keys}.keys()
    if complete and wanted is not None:
        for key in wanted:
            if reason := why_undefined(key, n_sources=len(sources), reference=reference is not None):
                raise UndefinedError(reason)
    scores: dict[str, float] = {}
    for key, metric, arguments in _comparisons(sources, fused, reference, colours):
        if wanted is None or key in wanted:
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
    """Yield key, metric and what the metric is called with."""
    for metric in CATALOGUE:
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
    """Name a source as the columns of a spreadsheet: A, B, ..., Z, AA, AB, ..."""
    rest, last = divmod(index, 26)
    return (source_letters(rest - 1) if rest else "") + chr(ord("A") + last)


def source_number(letters: str) -> int:
    """Count a source that is named so: 1 for A, 26 for Z, 27 for AA."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
