"""Quality metrics for fused images. Each docstring gives definition, range, direction and weakness.

Metrics compare grey planes. The conversion from colour to grey affects the values, so callers choose it;
`matlab_gray` is the formula of published values. Only `psnr_rgb` compares colours. `score` computes all
metrics.

Three kinds of metrics compare the fused image with its sources, `f(sources, fused)`, an image with a
reference, `f(reference, image)`, or nothing, `f(fused)`. Images that a metric cannot compare are an
`InputError`.

Parameters
----------
sources : sequence of arrays (h, w)
    Two or more grey images: uint8, uint16, float32 or float64, all of the fused image's size and type.
fused, reference, image : array (h, w)
    The grey fused image, the grey reference, or the grey image to compare with it.
data_range : float, optional
    Value of white; black is 0. Default for integers: the type's maximum (12-bit values in uint16 need 4095).
    Floats must give it. Metrics that count levels clip values outside.
"""

from panfocus.metrics._images import matlab_gray
from panfocus.metrics.catalogue import CATALOGUE, Metric, explain_undefined, get_metric, metric_names, score
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

__all__ = [
    "CATALOGUE", "Metric", "ag", "ei", "en", "explain_undefined", "fmi", "get_metric", "matlab_gray",
    "metric_names", "mse", "nmi", "psnr", "psnr_rgb", "qabf", "qc", "qcb", "qncie", "qp", "qw", "qy", "scd",
    "score", "sd", "sf", "ssim", "te", "viff",
]  # fmt: skip
