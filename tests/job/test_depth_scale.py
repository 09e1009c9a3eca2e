"""Distances as people write them."""

import pytest

from panfocus.errors import InputError
from panfocus.job.write_outputs import DepthScale


@pytest.mark.parametrize(
    ("text", "step", "unit"),
    [("5um", 5, "um"), ("0.1mm", 0.1, "mm"), (".5 µm", 0.5, "um"), ("3.μm", 3, "um"), ("2MM", 2, "mm")],
)
def test_distances_are_read_as_people_write_them(text, step, unit):
    assert DepthScale.parse(text) == DepthScale(step, unit)


@pytest.mark.parametrize("text", ["", "5", "um", "-1um", "0um", "5nm", "1e3um", "5 u m", f"{'9' * 400}um"])
def test_what_is_no_distance_is_refused(text):
    with pytest.raises(InputError, match="such as 5um"):
        DepthScale.parse(text)
