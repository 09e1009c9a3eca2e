"""Units, by what the lists of NGFF 0.5 and of OME's schema 2016-06 have."""

import pytest

from panfocus.io.units import converted, is_length_of_ome, is_time, of_ngff, of_ome, written_length


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
    assert of_ome(ngff) == ome
    assert of_ngff(ome) == ngff
    assert is_time(ngff) is (ome in ("µs", "h"))


def test_a_unit_that_is_not_known_stays_as_it_is():
    assert of_ome("furlong") == of_ngff("furlong") == "furlong"
    assert not is_time(None)


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
    assert of_ome(said) == ome
    assert is_time(said) is (ome == "s")
    assert is_length_of_ome(said) is (ome != "s")


def test_a_length_in_a_unit_that_ome_does_not_have_is_written_in_none_in_particular():
    """Left out it would be taken for micrometres, by OME's schema."""
    assert written_length("micron") == "µm"
    assert written_length("pixel") == "pixel"
    assert written_length("furlong") == written_length("second") == "reference frame"


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
    assert converted(length, unit, to) == found
