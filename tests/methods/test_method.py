import dataclasses

import numpy as np
import pytest

from panfocus.dictionary import CoupledDictionary
from panfocus.errors import FileError, InputError
from panfocus.methods import (
    DEFAULT_METHOD,
    FusionMethod,
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


def test_default_method_is_known():
    assert DEFAULT_METHOD in method_names()
    assert method_class(DEFAULT_METHOD) is PanFocus


def test_methods_are_created_with_their_settings():
    method = get_method("coupled", w=0.6, stride=2)
    assert method == Coupled(w=0.6, stride=2)


def test_methods_are_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        get_method("coupled").w = 0.6


@pytest.mark.parametrize("name", method_names())
def test_every_setting_has_help_and_a_default(name):
    for setting in dataclasses.fields(method_class(name)):
        assert setting.metadata["help"]
    method_class(name)()


def test_unknown_method_is_rejected_with_the_known_ones(message):
    with pytest.raises(InputError) as caught:
        get_method("coupeld")
    assert caught.value.facts["got"] == "coupeld"
    assert "coupled" in caught.value.facts["known"]
    message("method-unknown", str(caught.value))


def test_unknown_setting_is_rejected_with_the_known_ones(message):
    with pytest.raises(InputError) as caught:
        get_method("coupled", strid=2)
    assert caught.value.facts["setting"] == "strid"
    assert caught.value.facts["known"] == ["stride", "eps", "max_atoms", "dictionary", "w", "contrast"]
    message("method-setting-unknown", str(caught.value))


INVALID_SETTINGS = [
    ("coupled", "eps", 0.0),
    ("coupled", "eps", 1.0),
    ("coupled", "eps", float("nan")),
    ("coupled", "eps", "high"),
    ("coupled", "w", 0.49),
    ("coupled", "w", 1.0),
    ("coupled", "stride", 0),
    ("coupled", "stride", 9),
    ("coupled", "contrast", "lost"),
    ("coupled", "dictionary", "a.npz"),
    ("coupled", "dictionary", CoupledDictionary.default("ksvd")),
    ("dsift", "cell", 0),
    ("dsift", "cell", 65),
    ("dsift", "window", 2.5),
    ("dsift", "min_region", 0),
    ("dsift", "refinement", "all"),
    ("dwt", "wavelet", "db0"),
    ("dwt", "wavelet", "mexh"),
    ("dwt", "levels", 0),
    ("dwt", "levels", 17),
    ("dwt", "levels", 1.5),
    ("dwt", "details", "min"),
    ("dwt", "approximation", "max"),
    ("log-energy", "scale", 0.4),
    ("log-energy", "scale", 20.5),
    ("log-energy", "scale", "fine"),
    ("log-energy", "window", 8),
    ("panfocus", "composition", "hard"),
    ("panfocus", "front", "top"),
    ("panfocus", "quality", "best"),
    ("panfocus", "noise", -1.0),
    ("panfocus", "noise", 26.0),
    ("panfocus", "noise", "much"),
    ("panfocus", "dictionary", CoupledDictionary.default("ksvd")),
    ("sr-cm", "patch_size", 1),
    ("sr-cm", "patch_size", 46),
    ("sr-cm", "reconstruct", "both"),
    ("sr-fm", "dictionary", CoupledDictionary.default("ksvd")),
    ("sr-ksvd", "dictionary", CoupledDictionary.default("focus-maps")),
    ("variance", "window", 1),
    ("variance", "window", 257),
    ("variance", "window", 4),
]


@pytest.mark.parametrize(("name", "setting", "value"), INVALID_SETTINGS)
def test_invalid_setting_is_rejected(name, setting, value):
    with pytest.raises(InputError) as caught:
        get_method(name, **{setting: value})
    assert caught.value.facts["setting"] == setting


def test_dictionary_of_the_wrong_kind_is_rejected_with_the_needed_one(message):
    with pytest.raises(InputError) as caught:
        get_method("coupled", dictionary=CoupledDictionary.default("ksvd"))
    message("method-dictionary-kind", str(caught.value))


def test_text_is_converted_to_the_type_of_the_setting():
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
def test_text_of_the_wrong_type_is_rejected(setting, text, kind):
    with pytest.raises(InputError) as caught:
        parse_settings("coupled", {setting: text})
    assert caught.value.facts == {"setting": setting, "got": text, "needed": kind}


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


def test_dictionary_is_given_by_name_or_by_file(tmp_path):
    shipped = CoupledDictionary.default("levels3")
    assert parse_settings("coupled", {"dictionary": "levels3"}) == {"dictionary": shipped}
    shipped.save(tmp_path / "mine.npz")
    (mine,) = parse_settings("coupled", {"dictionary": str(tmp_path / "mine.npz")}).values()
    assert mine.digest == shipped.digest
    with pytest.raises(InputError) as caught:
        parse_settings("coupled", {"dictionary": "level3"})
    assert caught.value.facts["got"] == "level3"
    with pytest.raises(FileError):
        parse_settings("coupled", {"dictionary": "none.npz"})


def test_setting_names_are_in_order():
    assert setting_names("coupled") == ["stride", "eps", "max_atoms", "dictionary", "w", "contrast"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FirstFrame(FusionMethod):
    """Return the first frame, optionally twice as bright."""

    bright: bool = dataclasses.field(default=False, metadata={"help": "twice as bright"})

    def fuse(self, frames, tile):
        return FusionResult(image=frames[0] * (2 if self.bright else 1))


@pytest.fixture
def first_frame(monkeypatch):
    monkeypatch.setitem(_method._BUILT_IN, "first-frame", f"{__name__}:FirstFrame")


def test_minimal_method_has_defaults_for_other_members(first_frame, rng):
    method = get_method("first-frame", bright=True)
    tile = Tile.whole((13, 17))
    assert (method.maps, method.halo, method.uses_all_threads) == ((), None, False)
    assert method.working_bytes(2, 1, tile) >= 2 * 13 * 17 * 8
    frames = rng.random((2, 13, 17))
    np.testing.assert_array_equal(method.fuse(frames, tile).image, 2 * frames[0])


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False), ("TRUE", True)])
def test_truth_values_are_read_in_any_case(first_frame, text, value):
    assert parse_settings("first-frame", {"bright": text}) == {"bright": value}


def test_other_truth_values_are_rejected(first_frame):
    with pytest.raises(InputError) as caught:
        parse_settings("first-frame", {"bright": "1"})
    assert caught.value.facts["setting"] == "bright"


def test_result_needs_only_an_image():
    result = FusionResult(image=np.zeros((2, 2)))
    assert (result.labels, result.confidence, result.depth, result.never_in_focus) == (None,) * 4
    assert result.report == {}
