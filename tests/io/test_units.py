"""Units of NGFF 0.5 and OME 2016-06."""

import pytest

from panfocus.io.ome_xml import (
    convert_length,
    is_ome_length,
    is_time_unit,
    ome_length_unit,
    to_ngff_unit,
    to_ome_unit,
)


@pytest.mark.parametrize(
    ("ngff", "ome"),
    [
        ("micrometer", "µm"),
        ("picometer", "pm"),
        ("meter", "m"),
        ("angstrom", "Å"),
        ("microsecond", "µs"),
        ("hour", "h"),
    ],
)
def test_units_of_ngff_are_those_of_ome(ngff, ome):
    assert to_ome_unit(ngff) == ome
    assert to_ngff_unit(ome) == ngff
    assert is_time_unit(ngff) is (ome in ("µs", "h"))


def test_unknown_unit_is_unchanged():
    assert to_ome_unit("furlong") == to_ngff_unit("furlong") == "furlong"
    assert not is_time_unit(None)


@pytest.mark.parametrize(
    ("said", "ome"),
    [
        ("micron", "µm"),
        ("Microns", "µm"),
        ("um", "µm"),
        ("μm", "µm"),
        ("Micrometre", "µm"),
        ("millimeters", "mm"),
        ("Mm", "Mm"),
        ("inches", "in"),
        ("sec", "s"),
    ],
)
def test_common_names_of_units_are_understood(said, ome):
    assert to_ome_unit(said) == ome
    assert is_time_unit(said) is (ome == "s")
    assert is_ome_length(said) is (ome != "s")


def test_unknown_length_unit_becomes_reference_frame():
    """Left out it would be taken for micrometres, by OME's schema."""
    assert ome_length_unit("micron") == "µm"
    assert ome_length_unit("pixel") == "pixel"
    assert ome_length_unit("furlong") == ome_length_unit("second") == "reference frame"


@pytest.mark.parametrize(
    ("length", "unit", "to", "found"),
    [
        (500.0, "nm", "µm", 0.5),
        (0.5, "µm", "nm", 500.0),
        (3.0, "Å", "nm", 0.3),
        (2.0, "in", "in", 2.0),
        (2.0, "in", "µm", None),
        (2.0, "", "µm", None),
    ],
)
def test_lengths_are_converted_between_powers_of_ten(length, unit, to, found):
    assert convert_length(length, unit, to) == found
