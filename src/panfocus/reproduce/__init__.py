"""Reproduction of the paper's tables and figures, with the paper's values for comparison.

`reproduction` runs everything and writes the report. `paper` has the printed values and `image_sets` the
images. Each other module computes and shows one table or group of figures; `claims` judges the results.
"""

from panfocus.reproduce.claims import Verdict
from panfocus.reproduce.paper import PAPER, Experiment
from panfocus.reproduce.reproduction import (
    Reproduction,
    check_report,
    describe_cost,
    reproduce,
    write_report,
)

__all__ = [
    "PAPER", "Experiment", "Reproduction", "Verdict", "check_report", "describe_cost", "reproduce",
    "write_report",
]  # fmt: skip
