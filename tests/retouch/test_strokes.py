"""Stroke files: accepted and rejected contents."""

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


def test_strokes_survive_a_round_trip_through_a_file():
    assert parse_strokes(json.loads(json.dumps(STROKES.plain()))) == STROKES


def test_match_is_accepted_from_the_page_only():
    data = STROKES.plain()
    data["strokes"][1]["match"] = True
    assert [stroke.match for stroke in parse_strokes(data, matching=True).strokes] == [False, True]
    with pytest.raises(InputError) as caught:
        parse_strokes(data)
    assert caught.value.facts["setting"] == "match"


@pytest.mark.parametrize("match", [1, "yes", None])
def test_match_must_be_true_or_false(match):
    data = STROKES.plain()
    data["strokes"][0]["match"] = match
    with pytest.raises(InputError) as caught:
        parse_strokes(data, matching=True)
    assert caught.value.facts["setting"] == "Stroke 0"


def test_number_of_points_is_limited(monkeypatch):
    monkeypatch.setattr("panfocus.retouch.strokes.MOST_POINTS", 2)
    with pytest.raises(InputError) as caught:
        parse_strokes(STROKES.plain())
    assert caught.value.facts == {"limit": 2}


def test_existing_gain_is_not_matched_again():
    data = STROKES.plain()
    data["strokes"][0]["match"] = True
    assert not parse_strokes(data, matching=True).strokes[0].match


@pytest.mark.parametrize(
    ("name", "value", "fact"),
    [
        ("panfocus_retouch", 2, {"got": 2, "needed": 1}),
        ("panfocus_retouch", None, {}),
        ("width", 0, {"setting": "width", "got": 0}),
        ("height", "500", {"setting": "height", "got": "500"}),
        ("frames", 2, {"setting": "Stroke 1: frame", "got": 2}),
        ("strokes", {}, {"limit": 20_000}),
        ("strokes", [7], {"setting": "Stroke 0"}),
        ("colour", 1, {"setting": "colour"}),
    ],
)
def test_invalid_file_of_strokes_is_rejected(name, value, fact):
    with pytest.raises(InputError) as caught:
        parse_strokes({**STROKES.plain(), name: value})
    assert caught.value.facts == fact


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
def test_invalid_value_is_reported_with_its_stroke(name, value):
    data = copy.deepcopy(STROKES.plain())
    data["strokes"][1][name] = value
    with pytest.raises(InputError) as caught:
        parse_strokes(data)
    assert caught.value.facts["setting"].startswith("Stroke 1")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_missing_field_is_reported():
    data = STROKES.plain()
    del data["strokes"][0]["radius"]
    with pytest.raises(InputError) as caught:
        parse_strokes(data)
    assert caught.value.facts["setting"] == "radius"


@pytest.mark.parametrize("data", [None, [], "text", 7, {"width": 1}])
def test_other_data_are_rejected(data):
    with pytest.raises(InputError):
        parse_strokes(data)
