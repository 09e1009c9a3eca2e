"""What a file of strokes may hold."""

import copy
import json
import math

import pytest

from panfocus.errors import InputError
from panfocus.retouch import Stroke, Strokes, parse_strokes

STROKES = Strokes(
    900,
    500,
    3,
    (
        Stroke(0, ((1.0, 2.5), (3.0, -4.0)), 12.5, 0.5, 0.25, (1.0, 0.9, 1.1)),
        Stroke(2, ((499.0, 0.1),), 3.0),
    ),
)


def test_strokes_come_back_from_a_file_as_they_were():
    assert parse_strokes(json.loads(json.dumps(STROKES.plain()))) == STROKES


def test_match_is_for_the_page_and_not_for_files():
    data = STROKES.plain()
    data["strokes"][1]["match"] = True
    assert [stroke.match for stroke in parse_strokes(data, matching=True).strokes] == [False, True]
    with pytest.raises(InputError, match="stroke 1: match"):
        parse_strokes(data)


def test_a_gain_that_is_there_is_not_sought_again():
    data = STROKES.plain()
    data["strokes"][0]["match"] = True
    assert not parse_strokes(data, matching=True).strokes[0].match


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("panfocus_retouch", 2, "version 2"),
        ("panfocus_retouch", None, "no retouching strokes"),
        ("width", 0, "width"),
        ("height", "500", "height"),
        ("frames", 2, "stroke 1: frame must be at most 1"),
        ("strokes", {}, "strokes must be a list"),
        ("colour", 1, "colour is not known"),
    ],
)
def test_what_is_no_file_of_strokes_is_refused(name, value, said):
    with pytest.raises(InputError, match=said):
        parse_strokes({**STROKES.plain(), name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frame", -1),
        ("frame", True),
        ("frame", 1.0),
        ("points", []),
        ("points", [[1]]),
        ("points", [[1, math.nan]]),
        ("points", [[1, "2"]]),
        ("points", [[1, 1e30]]),
        ("radius", 0),
        ("radius", math.inf),
        ("hardness", 1.1),
        ("opacity", -0.1),
        ("opacity", None),
        ("gain", 1.0),
        ("gain", []),
        ("gain", [-1.0]),
        ("gain", [True]),
        ("gain", [10**400]),
    ],
)
def test_a_bad_value_is_named_with_its_stroke(name, value):
    data = copy.deepcopy(STROKES.plain())
    data["strokes"][1][name] = value
    with pytest.raises(InputError, match=r"^stroke 1") as caught:
        parse_strokes(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_field_that_is_missing_is_named():
    data = STROKES.plain()
    del data["strokes"][0]["radius"]
    with pytest.raises(InputError, match="stroke 0: radius is missing"):
        parse_strokes(data)


@pytest.mark.parametrize("data", [None, [], "text", 7, {"width": 1}])
def test_other_data_are_no_strokes(data):
    with pytest.raises(InputError, match="no retouching strokes"):
        parse_strokes(data)
