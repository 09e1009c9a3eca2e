"""The paper's tables and figures, ours beside the paper's: one file per table or figure.

`paper` holds what is printed there, `sets` says where the pictures are, `run` does everything in order,
`report` writes it. It uses the package as anyone could: public names only.
"""

from panfocus.reproduce.claims import Verdict
from panfocus.reproduce.reproduction import Reproduction, reproduce
from panfocus.reproduce.reproduction_report import check_report, cost, write_report
from panfocus.reproduce.settings import PAPER, Plan

__all__ = ["PAPER", "Plan", "Reproduction", "Verdict", "check_report", "cost", "reproduce", "write_report"]
