"""Quality metrics for fused images. Each docstring gives definition, range, direction and weakness.

Metrics compare grey planes. The conversion from colour to grey affects the values, so callers choose it;
`matlab_gray` is the formula of published values. Only `psnr_rgb` compares colours. `score` computes all
metrics.
"""

from panfocus.metrics._images import matlab_gray
from panfocus.metrics.catalogue import CATALOGUE, Metric, explain_undefined, get_metric, metric_names, score
from panfocus.metrics.fmi import fmi
from panfocus.metrics.nmi import nmi
from panfocus.metrics.no_reference import ag, ei, en, sd, sf
from panfocus.metrics.qabf import qabf
from panfocus.metrics.qc import qc
from panfocus.metrics.qcb import qcb
from panfocus.metrics.qncie import qncie
from panfocus.metrics.qp import qp
from panfocus.metrics.qw import qw
from panfocus.metrics.qy import qy
from panfocus.metrics.reference import mse, psnr, psnr_rgb, ssim
from panfocus.metrics.scd import scd
from panfocus.metrics.te import te
from panfocus.metrics.viff import viff

__all__ = [
    "CATALOGUE", "Metric", "ag", "ei", "en", "explain_undefined", "fmi", "get_metric", "matlab_gray",
    "metric_names", "mse", "nmi", "psnr", "psnr_rgb", "qabf", "qc", "qcb", "qncie", "qp", "qw", "qy", "scd",
    "score", "sd", "sf", "ssim", "te", "viff",
]  # fmt: skip
