"""Scenes x methods x metrics: fused, scored, and laid out as tables and a page.

The parts, in the order of the data: `scenes` and `entries` say what is compared, `checks` looks at it, `run`
makes every picture, in `processes`, and has it scored by `scoring`, `statistics` sums up, `pictures` and
`report` show it.
"""

from panfocus.compare.checks import ConditionsError
from panfocus.compare.comparison import Conditions, Job, Outcome, plan, run_jobs
from panfocus.compare.comparison_report import Comparison, report_folder, write_report
from panfocus.compare.entries import (
    Entry,
    FusionEntry,
    ResultsEntry,
    check_names,
    parse_methods,
    parse_results,
)
from panfocus.compare.scenes import Group, Scene, find_groups

__all__ = [
    "Comparison",
    "Conditions",
    "ConditionsError",
    "Entry",
    "FusionEntry",
    "Group",
    "Job",
    "Outcome",
    "ResultsEntry",
    "Scene",
    "check_names",
    "find_groups",
    "parse_methods",
    "parse_results",
    "plan",
    "report_folder",
    "run_jobs",
    "write_report",
]
