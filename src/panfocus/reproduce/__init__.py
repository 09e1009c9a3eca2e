"""The paper's tables and figures, ours beside the paper's: one file per table or figure.

`paper` holds what is printed there, `sets` says where the pictures are, `run` does everything in order,
`report` writes it. It uses the package as anyone could: public names only.
"""

from panfocus.reproduce.claims import Verdict
from panfocus.reproduce.plan import PAPER, Plan
from panfocus.reproduce.report import check_report, cost, write_report
from panfocus.reproduce.run import Reproduction, reproduce

__all__ = ["PAPER", "Plan", "Reproduction", "Verdict", "check_report", "cost", "reproduce", "write_report"]
