"""Every number of a reproduction, in one shape: for the CSV and JSON files."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields


@dataclass(frozen=True)
class Number:
    """One measured value, and the paper's where it prints one."""

    part: str  # of the page
    subject: str  # what was measured: an image set, a mean of sets, a dictionary
    variant: str  # by what: a method, a setting
    measure: str
    value: float
    paper: float | None = None


def as_csv(numbers: Iterable[Number]) -> bytes:
    """Return a table with one row a number; a value that the paper does not print is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Number))
    writer.writerows(astuple(number) for number in numbers)
    return text.getvalue().encode()
