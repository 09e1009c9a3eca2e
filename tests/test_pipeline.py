"""The steps of a fusion through `pf.fuse`: results, report, options and errors."""

import copy
import dataclasses
import json

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


def facts_of_error(frames, **options):
    """Return the facts of the InputError that `fuse` raises, whose text is one line."""
    with pytest.raises(InputError) as caught:
        fuse(frames, **options)
    assert "\n" not in str(caught.value)
    return caught.value.facts


def test_fuse_is_public():
    assert panfocus.fuse is fuse


def test_result_equals_the_method_on_the_whole_image(frames):
    result = fuse(frames, "coupled", w=0.6)
    direct = Coupled(w=0.6).fuse(frames, Tile.whole(SHAPE))
    for name in ("image", "labels", "confidence"):
        np.testing.assert_array_equal(getattr(result, name), getattr(direct, name))


def test_lists_tuples_and_arrays_give_the_same_result(frames):
    expected = fuse(frames)
    for given in (list(frames), tuple(frames), iter(list(frames)), np.asfortranarray(frames)):
        result = fuse(given)
        np.testing.assert_array_equal(result.image, expected.image)
        np.testing.assert_array_equal(result.labels, expected.labels)


def test_method_instance_is_used_with_its_settings(frames):
    by_name, made = fuse(frames, "coupled", stride=3), fuse(frames, Coupled(stride=3))
    np.testing.assert_array_equal(by_name.image, made.image)
    assert made.report["method"] == "coupled"
    assert made.report["settings"] == by_name.report["settings"]


def test_settings_with_a_method_instance_are_rejected(frames):
    with pytest.raises(InputError):
        fuse(frames, Coupled(), w=0.6)


def test_report_is_plain_data(frames):
    report = fuse(frames, "coupled", w=0.6, threads=2).report
    assert report["panfocus"] == panfocus.__version__
    assert report["method"] == "coupled"
    assert report["settings"] == {
        "dictionary": str(CoupledDictionary.default()),
        "stride": 1, "eps": 0.1, "max_atoms": 24, "w": 0.6, "contrast": "restored",
    }  # fmt: skip
    assert (report["frames"], report["shape"], report["dtype"]) == (3, [*SHAPE, 3], "uint8")
    assert report["threads"] == 2
    assert report["seconds"] >= 0
    assert "refine" not in report
    assert json.loads(json.dumps(report)) == report


def test_report_summarises_the_maps(frames):
    result = fuse(frames)
    shares = [float(np.mean(result.labels == k)) for k in range(3)]
    np.testing.assert_allclose(result.report["frame_shares"], shares, atol=1e-6)
    assert np.isclose(result.report["mean_confidence"], result.confidence.mean(), atol=1e-6)
    result = fuse(frames, method="panfocus")
    assert np.isclose(result.report["never_in_focus_share"], result.never_in_focus.mean(), atol=1e-6)


def test_report_describes_the_dictionary(frames):
    dictionary = panfocus.CoupledDictionary.default("levels3")
    report = fuse(frames, dictionary=dictionary).report
    assert report["settings"]["dictionary"] == str(dictionary)
    json.dumps(report)


def test_fewer_than_two_frames_are_rejected(frames):
    for too_few in ([], frames[:1], [frames[0]]):
        facts_of_error(too_few)


def test_frames_of_different_size_type_or_colour_are_rejected(frames):
    for other in (frames[1][:, 1:], frames[1].astype(np.uint16), frames[1][..., 0]):
        facts_of_error([frames[0], other])


def test_values_that_are_not_finite_are_rejected(rng):
    frames = rng.random((2, *SHAPE))
    frames[1, 2, 3] = np.nan
    facts_of_error(frames)


def test_unknown_methods_settings_and_maps_are_rejected(frames):
    facts_of_error(frames, method="magic")
    facts_of_error(frames, magic=1)
    facts_of_error(frames, method="coupled", w=0.4)
    assert facts_of_error(frames, maps=("label",)) == {"setting": "maps", "got": "label"}


@pytest.mark.parametrize("threads", [0, -2])
def test_less_than_one_thread_is_rejected(frames, threads):
    facts_of_error(frames, threads=threads)


def test_limit_of_threads_ends_with_the_call(frames):
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
def test_refining_with_strength_zero_changes_no_bit(rng, dtype):
    frames = rng.random((2, *SHAPE, 3))
    frames = (np.iinfo(dtype).max * frames if np.issubdtype(dtype, np.integer) else frames).astype(dtype)
    plain, refined = fuse(frames), fuse(frames, refine=True, refine_strength=0)
    np.testing.assert_array_equal(refined.image, plain.image)
    assert refined.image.dtype == dtype
    assert refined.report["refine"]["changed_share"] == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_refining_works_on_unit_intensities(rng, dtype):
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


def test_invalid_strength_is_rejected_before_any_work(frames):
    calls = []
    for strength in (-1.0, np.nan, 1e308):
        with pytest.raises(InputError):
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


def test_input_frames_are_not_modified(frames):
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
def test_arguments_of_wrong_type_are_rejected(frames, wrong):
    facts_of_error(frames, method="coupled", **wrong)


@pytest.mark.parametrize("wrong", [5, None])
def test_input_that_is_no_array_is_rejected(wrong):
    facts_of_error(wrong)


@pytest.mark.parametrize("wrong", [3, panfocus.FusionResult, Coupled])
def test_method_that_is_no_method_is_rejected(frames, wrong):
    assert facts_of_error(frames, method=wrong) == {"setting": "method"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"align": True}, {"align": None}, {"borders": "ful"}, {"reference": 3}, {"slabs": 3},
        {"slabs": (2, 1, 3)}, {"maps": 5}, {"maps": ("votes", "confidense")}, {"refine_strength": -1},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_values_are_rejected_even_if_they_have_no_effect(frames, wrong):
    assert facts_of_error(frames, **wrong)["setting"] in wrong


@pytest.mark.parametrize("shape", [(30, 40, 3), (30, 40, 2, 3)], ids=["image", "frames last"])
def test_frames_on_another_axis_than_the_first_are_rejected(shape):
    assert facts_of_error(np.zeros(shape, np.uint8)) == {"setting": "frames", "got": shape}


def test_path_in_place_of_frames_is_rejected():
    assert facts_of_error("photos/") == {"setting": "frames"}


def test_one_map_can_be_named_without_a_tuple(frames):
    result = fuse(frames, maps="labels")
    assert result.labels is not None
    assert result.depth is None


def test_strength_turns_refining_on(frames):
    assert fuse(frames, refine_strength=0.1) == fuse(frames, refine=True, refine_strength=0.1)


def test_stack_is_checked_like_arrays(frames):
    stack = panfocus.Stack(np.ma.masked_less(np.array(frames), 10), ("a", "b"))
    facts_of_error(stack)
    assert facts_of_error(panfocus.Stack(np.array(frames), ("a",))) == {"frames": len(frames), "got": 1}


@pytest.mark.parametrize("factor", [1e-100, 1e38, 1e100])
def test_floats_far_from_unit_range_are_rejected(frames, factor):
    facts_of_error([frame / 255.0 * factor for frame in frames])


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_scale_of_float_frames_does_not_change_the_labels(frames, factor):
    unit = np.asarray(frames, np.float64) / 255
    np.testing.assert_array_equal(fuse(unit * factor).labels, fuse(unit).labels)


def test_double_precision_resolves_contrast_on_a_large_offset(rng):
    sharp = rng.random((60, 80))
    soft = gaussian_filter(sharp, 2)
    left = np.arange(80) < 40
    frames = np.stack([np.where(left, sharp, soft), np.where(left, soft, sharp)])
    assert (fuse(frames + 1e6).labels == ~left).mean() > 0.99


def test_equal_results_compare_equal(frames):
    result = fuse(frames)
    assert result == copy.deepcopy(result)
    assert result == fuse(frames, threads=1)
    assert (result == result.image) is False
    assert result != dataclasses.replace(result, labels=None)
    assert result != dataclasses.replace(result, image=result.image + 1)
    assert result != "something else"


@pytest.fixture(scope="module")
def moved_stack():
    """Three textured frames (3, 150, 160), shifted by 3 pixels each, sharp in different thirds."""
    rng = np.random.default_rng(3)
    scene = gaussian_filter(rng.random((180, 190)), 1)
    scene = (scene - scene.min()) / np.ptp(scene)
    frames = []
    for k in range(3):
        view = scene[10:160, 10 + 3 * k : 170 + 3 * k]
        sharp = np.abs(np.arange(160) * 3 // 160 - k) == 0
        frames.append(np.where(sharp, view, gaussian_filter(view, 1.5)))
    return np.rint(255 * np.array(frames)).astype(np.uint8)


def test_aligning_keeps_the_full_frame_or_crops_it(moved_stack):
    full = fuse(moved_stack, align="shift")
    cropped = fuse(moved_stack, align="shift", borders="crop")
    assert full.image.shape == (150, 160)
    assert full.report["alignment"]["model"] == "shift"
    rows, cols = (slice(*span) for span in cropped.report["alignment"]["area"])
    assert cropped.image.shape == (rows.stop - rows.start, cols.stop - cols.start)
    assert cropped.image.shape[1] in range(152, 156)


@pytest.mark.parametrize("borders", ["full", "crop"])
def test_other_frames_are_aligned_like_those_of_the_result(moved_stack, borders):
    result = fuse(moved_stack, align="shift", borders=borders, maps="votes", exposure="off", hot_pixels="off")
    np.testing.assert_array_equal(panfocus.apply(result, moved_stack), result.image)


def test_stacks_are_accepted_wherever_frames_are(moved_stack):
    stack = panfocus.Stack(moved_stack, ("a", "b", "c"))
    assert repr(stack) == "Stack(3 frames of 160 x 150, uint8)"
    aligned = panfocus.align(stack, "shift")
    np.testing.assert_array_equal(aligned.frames, panfocus.align(moved_stack, "shift").frames)
    np.testing.assert_array_equal(aligned.apply(stack), aligned.frames)
    result = fuse(stack)
    np.testing.assert_array_equal(panfocus.apply(result, stack), panfocus.apply(result, moved_stack))


def test_hot_pixels_are_repaired_before_alignment(moved_stack):
    hot = moved_stack // 4 + 20
    hot[:, 70, 80] = 255
    result = fuse(hot, align="shift")
    assert result.report["hot_pixels"]["fixed"] == 1
    assert result.image.max() < 100  # resampling would have spread the hot pixel to its neighbours


@pytest.mark.parametrize("wrong", [{"align": "magic"}, {"align": "shift", "borders": "mark"}], ids=str)
def test_unknown_alignment_options_are_rejected(moved_stack, wrong):
    facts = facts_of_error(moved_stack, **wrong)
    assert facts["setting"] in wrong


def test_frame_that_cannot_be_aligned_is_named(moved_stack, rng):
    other = rng.integers(0, 256, moved_stack[0].shape, np.uint8)
    with pytest.raises(panfocus.AlignmentError) as caught:
        fuse([*moved_stack, other], align="shift")
    assert caught.value.facts["frames"] == (3,)
