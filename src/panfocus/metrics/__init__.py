"""Quality of a fused image, one file per metric: each states its definition, range, direction and weakness.

Metrics compare grey planes; how colour becomes grey is the caller's choice, as it moves the values.
`matlab_gray` is the formula of the published ones.
"""

from panfocus.metrics.catalogue import CATALOGUE, Metric, metric_of, score
from panfocus.metrics.matlab_gray import matlab_gray
from panfocus.metrics.mse import mse
from panfocus.metrics.nmi import nmi
from panfocus.metrics.psnr import psnr
from panfocus.metrics.qabf import qabf
from panfocus.metrics.ssim import ssim

__all__ = ["CATALOGUE", "Metric", "matlab_gray", "metric_of", "mse", "nmi", "psnr", "qabf", "score", "ssim"]
