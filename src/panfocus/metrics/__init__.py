"""Quality of a fused image, one file per metric: each states its definition, range, direction and weakness.

Metrics compare grey planes; how colour becomes grey is the caller's choice, as it moves the values.
`matlab_gray` is the formula of the published ones. `psnr_rgb` alone compares colours. `score` gives all
metrics at once.
"""

from panfocus.metrics.ag import ag
from panfocus.metrics.catalogue import CATALOGUE, Metric, metric_of, score, why_undefined
from panfocus.metrics.ei import ei
from panfocus.metrics.en import en
from panfocus.metrics.fmi import fmi
from panfocus.metrics.matlab_gray import matlab_gray
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

__all__ = [
    "CATALOGUE",
    "Metric",
    "ag",
    "ei",
    "en",
    "fmi",
    "matlab_gray",
    "metric_of",
    "mse",
    "nmi",
    "psnr",
    "psnr_rgb",
    "qabf",
    "qc",
    "qcb",
    "qncie",
    "qp",
    "qw",
    "qy",
    "scd",
    "score",
    "sd",
    "sf",
    "ssim",
    "te",
    "viff",
    "why_undefined",
]  # fmt: skip
