import dataclasses
from typing import ClassVar

import numpy as np
import pytest

from panfocus.dictionary import CoupledDictionary
from panfocus.errors import FileError, InputError
from panfocus.methods import (
    DEFAULT_METHOD,
    Tile,
    _method,
    get_method,
    method_class,
    method_names,
    parse_assignments,
    parse_settings,
    setting_names,
)
from panfocus.methods.coupled import Coupled
from panfocus.methods.panfocus import PanFocus
from panfocus.result import FusionResult


def test_the_default_method_is_known():
    assert DEFAULT_METHOD in method_names()
    assert method_class(DEFAULT_METHOD) is PanFocus


def test_methods_are_made_with_their_settings():
    method = get_method("coupled", w=0.6, stride=2)
    assert method == Coupled(w=0.6, stride=2)


def test_methods_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        get_method("coupled").w = 0.6


@pytest.mark.parametrize("name", method_names())
def test_every_setting_is_described(name):
    for setting in dataclasses.fields(method_class(name)):
        assert setting.metadata["help"]
    method_class(name)()  # every setting has a default


def test_an_unknown_method_is_refused_with_those_known():
    with pytest.raises(InputError, match=r"unknown method 'coupeld'; known: .*\bcoupled\b"):
        get_method("coupeld")


def test_a_misspelt_setting_is_refused_with_those_known():
    words = "method 'coupled' has no setting 'strid'; known: stride, eps, dictionary, w, contrast"
    with pytest.raises(InputError, match=words):
        get_method("coupled", strid=2)


def test_settings_typed_as_text_get_the_types_of_their_fields():
    parsed = parse_settings("coupled", {"w": "0.6", "stride": "2", "eps": "1e-2", "contrast": "normalised"})
    assert parsed == {"w": 0.6, "stride": 2, "eps": 0.01, "contrast": "normalised"}
    assert isinstance(parsed["stride"], int)
    assert get_method("coupled", **parsed) == Coupled(**parsed)


@pytest.mark.parametrize(
    ("setting", "text", "kind"),
    [
        ("w", "high", "number"),
        ("w", "", "number"),
        ("stride", "1.5", "whole number"),
        ("stride", "two", "whole number"),
    ],
)
def test_text_of_the_wrong_kind_is_refused(setting, text, kind):
    with pytest.raises(InputError, match=f"setting {setting}={text}: not a {kind}"):
        parse_settings("coupled", {setting: text})


def test_assignments_are_split_at_the_first_equals_sign():
    assert parse_assignments(["w=0.6", "dictionary=a=b.npz"]) == {"w": "0.6", "dictionary": "a=b.npz"}


@pytest.mark.parametrize(
    ("texts", "setting"), [(["w"], "settings"), (["=1"], "settings"), (["w=1", "w=1"], "w")]
)
def test_a_setting_without_a_value_or_given_twice_is_rejected(texts, setting):
    with pytest.raises(InputError) as caught:
        parse_assignments(texts)
    assert caught.value.facts["setting"] == setting
    assert caught.value.facts["got"] == texts[-1]


def test_a_dictionary_is_typed_by_its_name_or_its_file(tmp_path):
    shipped = CoupledDictionary.default("levels3")
    assert parse_settings("coupled", {"dictionary": "levels3"}) == {"dictionary": shipped}
    shipped.save(tmp_path / "mine.npz")
    (mine,) = parse_settings("coupled", {"dictionary": str(tmp_path / "mine.npz")}).values()
    assert mine.digest == shipped.digest
    with pytest.raises(InputError, match="no dictionary 'level3'"):
        parse_settings("coupled", {"dictionary": "level3"})
    with pytest.raises(FileError, match=r"none\.npz: no such file"):
        parse_settings("coupled", {"dictionary": "none.npz"})


def test_the_settings_of_a_method_are_known_by_name():
    assert setting_names("coupled") == ["stride", "eps", "dictionary", "w", "contrast"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Still:
    """A method from elsewhere: the first frame, twice as bright or not."""

    maps: ClassVar = ()
    halo: ClassVar = None

    bright: bool = dataclasses.field(default=False, metadata={"help": "twice as bright"})

    def fuse(self, frames, tile):
        return FusionResult(image=frames[0] * (2 if self.bright else 1))


@pytest.fixture
def still(monkeypatch):
    monkeypatch.setitem(_method._BUILT_IN, "still", f"{__name__}:Still")


def test_methods_of_other_modules_are_found_by_their_address(still, rng):
    assert "still" in method_names()
    frames = rng.random((2, 13, 17))
    result = get_method("still", bright=True).fuse(frames, Tile.whole((13, 17)))
    np.testing.assert_array_equal(result.image, 2 * frames[0])


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False), ("TRUE", True)])
def test_truth_values_are_read_in_any_case(still, text, value):
    assert parse_settings("still", {"bright": text}) == {"bright": value}


def test_other_words_are_no_truth_values(still):
    with pytest.raises(InputError, match=r"setting bright=1: not a truth value \(true or false\)"):
        parse_settings("still", {"bright": "1"})


def test_a_result_owes_nothing_but_an_image():
    result = FusionResult(image=np.zeros((2, 2)))
    assert (result.labels, result.confidence, result.depth, result.never_in_focus) == (None,) * 4
    assert result.report == {}
