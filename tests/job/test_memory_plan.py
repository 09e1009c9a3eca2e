"""Memory plans stay within the allowed memory."""

import dataclasses
import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus._checks import blank
from panfocus._threads import limit_threads
from panfocus.errors import NotEnoughMemoryError
from panfocus.job.memory_plan import PROGRAM, make_plan
from panfocus.methods import get_method
from panfocus.registration.aligned_frames import apply_alignment
from panfocus.registration.alignment import _registration_bytes, alignment_bytes, find_alignment
from panfocus.slabs import slab_spans
from panfocus.tiling.tiled import tile_side


def like(n_frames, height, width, dtype=np.uint8):
    return blank((n_frames, height, width, 3), np.dtype(dtype))


def plan(
    method,
    frames,
    max_memory=None,
    *,
    maps=(),
    refine=False,
    align=False,
    spans=(),
    n_separate=0,
    threads=2,
    **settings,
):
    with limit_threads(threads):
        return make_plan(
            method,
            get_method(method, **settings),
            frames,
            maps=maps,
            refine=refine,
            align=align,
            max_memory=max_memory,
            spans=spans,
            n_separate=n_separate,
        )


def least_memory(method, frames, **options):
    """Return the least number of bytes with which the fusion is possible."""
    with pytest.raises(NotEnoughMemoryError) as caught:
        plan(method, frames, 1, **options)
    return caught.value.facts["needed"]


@pytest.mark.parametrize("method", ["panfocus", "dsift", "dwt"])
@pytest.mark.parametrize("options", [{}, {"refine": True}])
def test_separate_channels_need_no_more_than_channels_together(method, options):
    """One channel is fused and refined at a time."""
    frames = like(10, 1000, 1500)
    separate = least_memory(method, frames, n_separate=3, **options)
    assert separate < least_memory(method, frames, **options)
    alone = least_memory(method, frames[..., 0], **options)
    more = 3 * frames[0].nbytes  # the image, its file and a decoded frame, of all channels
    if method == "dsift":
        more += frames.nbytes  # it holds all frames
    assert alone < separate < alone + more


@pytest.mark.parametrize("method", ["panfocus", "dwt", "coupled", "max-projection"])
@pytest.mark.parametrize("n_frames", [2, 10, 100])
@pytest.mark.parametrize("limit", [2_000_000_000, 3_000_000_000])
def test_plan_stays_below_its_limit_and_moves_frames_to_disk_if_needed(method, n_frames, limit):
    frames = like(n_frames, 4000, 6000)
    planned = plan(method, frames, limit)
    assert PROGRAM < planned.memory <= limit
    if frames.nbytes > limit:
        assert not planned.in_memory
    if n_frames == 2:
        assert planned.in_memory


def test_more_memory_gives_larger_tiles():
    frames = like(20, 4000, 6000)
    sides = [plan("panfocus", frames, limit).side for limit in (1_200_000_000, 1_400_000_000, 9 * 10**9)]
    assert sides[0] < sides[1] < sides[2] == 2100


def test_fewer_threads_allow_larger_tiles():
    frames = like(20, 4000, 6000)
    assert plan("dwt", frames, 10**9, threads=1).side > plan("dwt", frames, 10**9, threads=8).side


@pytest.mark.parametrize(
    ("method", "options"),
    [("pca", {}), ("dsift", {}), ("dwt", {"refine": True}), ("panfocus", {"n_frames": 100})],
)
def test_error_states_the_memory_that_suffices(method, options):
    frames = like(options.pop("n_frames", 2), 4000, 6000)
    with pytest.raises(NotEnoughMemoryError) as caught:
        plan(method, frames, 500_000_000, **options)
    facts = caught.value.facts
    assert (caught.value.hint, facts["limit"]) == ("more_memory", 500_000_000)
    assert plan(method, frames, facts["needed"], **options).memory <= facts["needed"]


@pytest.mark.parametrize("n_frames", [2, 40])
@pytest.mark.parametrize("settings", [{}, {"quality": "exact", "front": "last"}, {"noise": 3.0}], ids=str)
def test_least_memory_suffices_for_any_content_of_the_frames(n_frames, settings):
    """Noise, softness and phase contrast, known after reading, widen the halo; cropping changes the tiles."""
    frames = like(n_frames, 3000, 4000)
    planned = plan("panfocus", frames, least_memory("panfocus", frames, **settings), **settings)
    usual, _ = get_method("panfocus", **settings).plan_surveys((3000, 4000))
    for noise, scale, inversion, cropped in product((0.5, 25.0), (1, 4), (0.0, 1.0), (0, 17, 200)):
        measured = {"noise": settings.get("noise", noise), "scale": scale, "inversion": inversion}
        found = dataclasses.replace(usual, clip=250.0, **measured)
        left = like(n_frames, 3000 - cropped, 4000 - cropped)
        with limit_threads(2):
            assert tile_side(found, left, planned.tile_memory, halo=found.halo) >= 48


def test_slabs_need_the_memory_of_one_slab():
    """One slab of 20 frames at a time, then the images of 10 slabs; labels are always kept."""
    spans = slab_spans(155, 20, 5)
    assert len(spans) == 10
    frames = like(155, 4000, 6000)
    by_slabs = least_memory("panfocus", frames, spans=spans)
    assert by_slabs == least_memory("panfocus", like(20, 4000, 6000), maps=("labels",))
    assert by_slabs < least_memory("panfocus", frames) - 200_000_000
    limit = 2_700_000_000
    assert plan("panfocus", frames, limit, spans=spans).side > plan("panfocus", frames, limit).side
    short = slab_spans(155, 5, 0)  # 31 slab images are more than the 5 frames of a slab
    assert least_memory("dwt", frames, spans=short) == least_memory(
        "dwt", like(31, 4000, 6000), maps=("labels",)
    )
    # A method that needs the whole image needs no more than a slab's frames.
    assert not plan("pca", frames, 7 * 10**9, spans=spans).in_memory


def test_refinement_maps_frames_and_depth_add_memory():
    frames = like(2, 1000, 1000)
    plain = plan("dwt", frames, 10**10).memory
    assert plan("dwt", frames, 10**10, refine=True).memory - plain == 136 * 3_000_000
    assert plan("dwt", frames, 10**10, maps=("labels",)).memory > plain
    assert plan("dwt", like(3, 1000, 1000), 10**10).memory - plain >= frames[0].nbytes
    assert plan("dwt", like(2, 1000, 1000, np.uint16), 10**10).memory > plain


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_plan_includes_the_memory_of_alignment(dtype):
    frames = like(30, 4000, 6000, dtype)
    with limit_threads(2):
        aligning = alignment_bytes(frames)
    assert 2 * frames[0].nbytes < aligning < 2 * frames[0].nbytes + 200_000_000
    off, on = (plan("pca", frames, 10**11, align=align).memory for align in (False, True))
    assert on >= max(off, PROGRAM + frames.nbytes + aligning)


def test_memory_of_registration_hardly_grows_with_number_and_size_of_frames():
    with limit_threads(2):
        few, many = (alignment_bytes(like(n, 1100, 1400)) for n in (2, 200))
        assert few < 100_000_000
        assert 50_000_000 < many - few < 200 * 2 * 600_000  # matches of two pairs per frame
        large, larger = (_registration_bytes(like(2, 1000 * k, 1500 * k)) for k in (4, 8))
    assert abs(larger - large) < 10_000_000


@pytest.mark.parametrize(("shape", "dtype"), [((3, 1200, 1300), np.uint8), ((3, 2100, 2500, 3), np.uint16)])
def test_alignment_takes_no_more_memory_than_planned(rng, shape, dtype):
    """tracemalloc sees every NumPy array; those inside compiled loops are rows and small blocks."""
    texture = gaussian_filter(rng.random((shape[1] + 40, shape[2] + 40)), 2)
    texture = (np.iinfo(dtype).max * (texture - texture.min()) / np.ptp(texture)).astype(dtype)
    frames = np.empty(shape, dtype)
    for k, frame in enumerate(frames):
        cut = texture[5 * k : 5 * k + shape[1], 8 * k : 8 * k + shape[2]]
        frame[...] = cut if frame.ndim == 2 else cut[..., None]
    with limit_threads(2):
        allowed = alignment_bytes(frames)
        small = frames[:, :200, :200].copy()  # compile before measuring
        apply_alignment(find_alignment(small, "shift"), small, "full", overwrite=True)
        tracemalloc.start()
        try:
            found = find_alignment(frames, "shift")
            apply_alignment(found, frames, "full", overwrite=True)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    np.testing.assert_allclose(found.transforms[2][:2, 2], [-8, -5], atol=0.1)
    assert allowed / 4 < peak < allowed


def test_expected_time_includes_all_steps_and_scales_with_cores():
    frames = like(10, 3000, 4000)
    plain = plan("panfocus", frames).seconds
    assert plan("panfocus", frames, threads=1).seconds == pytest.approx(2 * plain, rel=0.2)  # tiles differ
    # Ten frames of 12 megapixels on two cores.
    assert plan("panfocus", frames, align=True).seconds - plain == pytest.approx(10 * (0.12 + 12 * 0.135) / 2)
    assert plan("panfocus", frames, refine=True).seconds - plain >= 12 * 3


def test_default_limit_is_a_quarter_of_the_free_memory_or_the_need(monkeypatch):
    frames = like(100, 4000, 6000)
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: 10**10)
    assert plan("panfocus", frames) == plan("panfocus", frames, 10**10 // 4)
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: 2 * 10**9)
    assert 500_000_000 < plan("panfocus", frames).memory < 2 * 10**9
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: 500_000_000)
    with pytest.raises(NotEnoughMemoryError) as caught:
        plan("panfocus", frames)
    assert (caught.value.hint, caught.value.facts["limit"]) == ("fewer_frames", 500_000_000)
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: None)
    assert plan("panfocus", frames) == plan("panfocus", frames, 2 * 10**9)
