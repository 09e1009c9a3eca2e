"""Comparison of methods on scenes by metrics, as tables and a page.

`scenes` and `entries` find what to compare. `comparison` runs every method on every scene, and `scoring`
scores the results. `statistics` summarises them, `pictures` and `comparison_report` show them.
"""

from panfocus.compare.comparison import Conditions, Trial, TrialResult, list_trials, run_trials
from panfocus.compare.comparison_report import Comparison, report_folder, write_report
from panfocus.compare.entries import (
    Entry,
    FusionEntry,
    ResultsEntry,
    parse_entries,
    parse_methods,
    parse_results,
)
from panfocus.compare.scenes import Group, Scene, find_groups

__all__ = [
    "Comparison", "Conditions", "Entry", "FusionEntry", "Group", "ResultsEntry", "Scene", "Trial",
    "TrialResult", "find_groups", "list_trials", "parse_entries", "parse_methods", "parse_results",
    "report_folder", "run_trials", "write_report",
]  # fmt: skip
