"""Quality of a fused image, one file per metric: each states its definition, range, direction and weakness.

Metrics compare grey planes; how colour becomes grey is the caller's choice, as it moves the values.
"""

from panfocus.metrics.nmi import nmi
from panfocus.metrics.qabf import qabf

__all__ = ["nmi", "qabf"]
