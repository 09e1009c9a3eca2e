import dataclasses
import json
import re

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus
from panfocus._threads import thread_count
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import InputError
from panfocus.methods import Tile
from panfocus.methods.coupled import Coupled
from panfocus.pipeline import fuse
from panfocus.refine import refine_tv

SHAPE = (13, 17)


@pytest.fixture
def frames(rng):
    return rng.integers(0, 256, (3, *SHAPE, 3), np.uint8)


def refused(frames, words, **settings):
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        fuse(frames, **settings)
    assert "\n" not in str(caught.value)


def test_fuse_is_a_public_name():
    assert panfocus.fuse is fuse


def test_the_result_is_that_of_the_method(frames):
    result = fuse(frames, "coupled", w=0.6)
    direct = Coupled(w=0.6).fuse(frames, Tile.whole(SHAPE))
    for name in ("image", "labels", "confidence"):
        np.testing.assert_array_equal(getattr(result, name), getattr(direct, name))


def test_lists_tuples_and_arrays_of_frames_give_the_same(frames):
    expected = fuse(frames)
    for given in (list(frames), tuple(frames), iter(list(frames)), np.asfortranarray(frames)):
        result = fuse(given)
        np.testing.assert_array_equal(result.image, expected.image)
        np.testing.assert_array_equal(result.labels, expected.labels)


def test_a_method_that_is_made_already_is_used_as_it_is(frames):
    by_name, made = fuse(frames, "coupled", stride=3), fuse(frames, Coupled(stride=3))
    np.testing.assert_array_equal(by_name.image, made.image)
    assert made.report["method"] == "coupled"
    assert made.report["settings"] == by_name.report["settings"]


def test_settings_beside_a_made_method_are_an_error(frames):
    with pytest.raises(InputError, match="settings go with a method's name"):
        fuse(frames, Coupled(), w=0.6)


def test_the_report_says_what_was_done_in_plain_data(frames):
    report = fuse(frames, "coupled", w=0.6, threads=2).report
    assert report["panfocus"] == panfocus.__version__
    assert report["method"] == "coupled"
    assert report["settings"] == {
        "dictionary": str(CoupledDictionary.default()),
        "stride": 1, "eps": 0.1, "w": 0.6, "contrast": "restored",
    }  # fmt: skip
    assert (report["frames"], report["shape"], report["dtype"]) == (3, [*SHAPE, 3], "uint8")
    assert report["threads"] == 2
    assert report["seconds"] >= 0
    assert "refine" not in report
    assert json.loads(json.dumps(report)) == report


def test_the_report_sums_up_the_maps(frames):
    result = fuse(frames)
    shares = [float(np.mean(result.labels == k)) for k in range(3)]
    np.testing.assert_allclose(result.report["frame_shares"], shares, atol=1e-6)
    assert np.isclose(result.report["mean_confidence"], result.confidence.mean(), atol=1e-6)
    result = fuse(frames, method="panfocus")
    assert np.isclose(result.report["never_in_focus_share"], result.never_in_focus.mean(), atol=1e-6)


def test_a_dictionary_is_in_the_report_by_its_description(frames):
    dictionary = panfocus.CoupledDictionary.default("levels3")
    report = fuse(frames, dictionary=dictionary).report
    assert report["settings"]["dictionary"] == str(dictionary)
    json.dumps(report)


def test_too_few_frames_are_refused(frames):
    refused([], "fusion needs at least two frames, got none")
    refused(frames[:1], "fusion needs at least two frames, got 1")
    refused([frames[0]], "fusion needs at least two frames, got 1")


def test_frames_that_do_not_match_are_refused(frames):
    refused([frames[0], frames[1][:, 1:]], "frame 1 is 16 x 13 pixels, frame 0 is 17 x 13")
    refused([frames[0], frames[1].astype(np.uint16)], "frame 1 is uint16, frame 0 is uint8")
    refused([frames[0], frames[1][..., 0]], "frame 1 is grey, frame 0 is colour")


def test_values_that_are_no_numbers_are_refused(rng):
    frames = rng.random((2, *SHAPE))
    frames[1, 2, 3] = np.nan
    refused(frames, "frame 1 holds NaN or infinite values")


def test_unknown_methods_and_settings_are_refused(frames):
    refused(frames, "unknown method 'magic'", method="magic")
    refused(frames, "method 'panfocus' has no setting 'magic'", magic=1)
    refused(frames, "w must be at least 0.5 and below 1, got 0.4", method="coupled", w=0.4)


@pytest.mark.parametrize("threads", [0, -2])
def test_less_than_one_thread_is_refused(frames, threads):
    refused(frames, f"threads must be at least 1, got {threads}", threads=threads)


def test_threads_hold_for_the_call_alone(frames):
    before = thread_count()
    seen = []

    @dataclasses.dataclass(frozen=True)
    class Spy:
        maps, halo = (), None

        def fuse(self, frames, tile):
            seen.append(thread_count())
            return panfocus.FusionResult(image=frames[0])

    assert fuse(frames, Spy(), threads=5).report["threads"] == 5
    assert seen == [5]
    assert thread_count() == before


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_refining_with_strength_zero_leaves_every_bit(rng, dtype):
    frames = rng.random((2, *SHAPE, 3))
    frames = (np.iinfo(dtype).max * frames if np.issubdtype(dtype, np.integer) else frames).astype(dtype)
    plain, refined = fuse(frames), fuse(frames, refine=True, refine_strength=0)
    np.testing.assert_array_equal(refined.image, plain.image)
    assert refined.image.dtype == dtype
    assert refined.report["refine"]["changed_share"] == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_refining_solves_the_problem_on_unit_intensities(rng, dtype):
    frames = rng.random((2, *SHAPE))
    white = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    frames = (white * frames).astype(dtype)
    plain, refined = fuse(frames), fuse(frames, refine=True, refine_strength=0.05)
    expected = refine_tv(plain.image / white, strength=0.05).image
    assert refined.image.dtype == dtype
    step = 0.5 if white > 1 else 0
    np.testing.assert_allclose(refined.image.astype(float), white * expected, atol=step + 2e-4 * white)
    np.testing.assert_array_equal(refined.labels, plain.labels)
    report = refined.report["refine"]
    assert report["strength"] == 0.05
    assert report["iterations"] > 0
    assert report["changed_share"] > 0.5
    change = np.abs(refined.image.astype(float) - plain.image).max() / white
    assert np.isclose(report["largest_change"], change, atol=1e-6)
    json.dumps(refined.report)


def test_a_strength_that_cannot_be_is_refused_before_any_work(frames):
    calls = []
    for strength in (-1.0, np.nan, 1e308):
        with pytest.raises(InputError, match="strength must be a number from 0 to 10000, got"):
            fuse(frames, refine=True, refine_strength=strength, progress=lambda *call: calls.append(call))
    assert not calls


def test_progress_names_every_stage_and_ends_each_at_one(frames):
    seen = {}
    fuse(
        frames,
        refine=True,
        refine_strength=0.01,
        progress=lambda s, done: seen.setdefault(s, []).append(done),
    )
    assert next(iter(seen)) == "fuse"
    assert len(seen) == 2
    for shares in seen.values():
        assert shares == sorted(shares)
        assert shares[-1] == 1


def test_the_frames_are_left_as_they_were(frames):
    before = frames.copy()
    result = fuse(frames, refine=True, refine_strength=0.1)
    np.testing.assert_array_equal(frames, before)
    assert not np.shares_memory(result.image, frames)


def test_nothing_is_printed(frames, capfd):
    fuse(frames, refine=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "wrong",
    [{"stride": 2.5}, {"stride": "2"}, {"w": "0.6"}, {"w": None}, {"threads": 2.5}, {"threads": "2"}],
    ids=str,
)
def test_arguments_of_the_wrong_type_are_input_errors(frames, wrong):
    with pytest.raises(InputError, match=f"{next(iter(wrong))} must be a"):
        fuse(frames, "coupled", **wrong)


@pytest.mark.parametrize("wrong", [5, None])
def test_what_is_no_frames_at_all_is_an_input_error(wrong):
    with pytest.raises(InputError, match="needed: an array or a sequence of arrays"):
        fuse(wrong)


def test_what_is_no_method_is_an_input_error(frames):
    with pytest.raises(InputError, match="method must be a name or a method, got 3"):
        fuse(frames, 3)


@pytest.mark.parametrize("factor", [1e-100, 1e38, 1e100])
def test_floats_far_from_unit_range_are_refused_and_not_labelled_at_random(frames, factor):
    with pytest.raises(InputError, match="rescale them to about 0 to 1"):
        fuse([frame / 255.0 * factor for frame in frames])


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_the_scale_of_float_frames_does_not_change_the_decision(frames, factor):
    unit = np.asarray(frames, np.float64) / 255
    np.testing.assert_array_equal(fuse(unit * factor).labels, fuse(unit).labels)


def test_double_precision_sees_contrast_on_a_large_offset(rng):
    sharp = rng.random((60, 80))
    soft = gaussian_filter(sharp, 2)
    left = np.arange(80) < 40
    frames = np.stack([np.where(left, sharp, soft), np.where(left, soft, sharp)])
    assert (fuse(frames + 1e6).labels == ~left).mean() > 0.99
