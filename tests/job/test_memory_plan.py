"""Plans keep to the memory that is allowed."""

import dataclasses
import re
import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus._checks import blank
from panfocus._threads import limit_threads
from panfocus.errors import InputError
from panfocus.job.memory_plan import PROGRAM, make_plan
from panfocus.methods import get_method
from panfocus.registration import alignment_bytes, apply_alignment, find_alignment
from panfocus.registration.memory import _registering
from panfocus.slabs import slab_spans
from panfocus.tiling import tile_side


def like(n_frames, height, width, dtype=np.uint8):
    return blank((n_frames, height, width, 3), np.dtype(dtype))


def plan(
    method, frames, max_memory=None, *, maps=(), refine=False, align=False, spans=(), threads=2, **settings
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
        )


def least_memory(method, frames, **options):
    """Return what a refusal says is needed, in bytes."""
    with pytest.raises(InputError) as caught:
        plan(method, frames, 1, **options)
    megabytes = re.search(r"about ([\d,]+) MB of memory would be needed", str(caught.value)).group(1)
    return (int(megabytes.replace(",", "")) + 1) * 10**6


@pytest.mark.parametrize("method", ["panfocus", "dwt", "coupled"])
@pytest.mark.parametrize("n_frames", [2, 10, 100])
@pytest.mark.parametrize("limit", [1_500_000_000, 3_000_000_000])
def test_a_plan_stays_below_its_limit_and_frames_go_to_the_disk_if_they_have_to(method, n_frames, limit):
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


def test_tiles_that_take_turns_take_less():
    frames = like(20, 4000, 6000)
    assert plan("dwt", frames, 10**9, threads=1).side > plan("dwt", frames, 10**9, threads=8).side


@pytest.mark.parametrize(
    ("method", "options"),
    [("pca", {}), ("dsift", {}), ("dwt", {"refine": True}), ("panfocus", {"n_frames": 100})],
)
def test_too_little_memory_is_refused_with_what_is_needed_and_that_suffices(method, options):
    frames = like(options.pop("n_frames", 2), 4000, 6000)
    with pytest.raises(InputError, match=r"about [\d,]+ MB of memory would be needed, .* 500 MB") as caught:
        plan(method, frames, 500_000_000, **options)
    megabytes = int(re.search(r"about ([\d,]+) MB", str(caught.value)).group(1).replace(",", ""))
    assert plan(method, frames, (megabytes + 1) * 10**6, **options).memory <= (megabytes + 1) * 10**6


@pytest.mark.parametrize("n_frames", [2, 40])
@pytest.mark.parametrize("settings", [{}, {"quality": "exact", "front": "last"}, {"noise": 3.0}], ids=str)
def test_the_least_memory_suffices_whatever_the_frames_turn_out_to_be(n_frames, settings):
    """Noise and softness, known when frames have been read, widen the halo; cropping changes the tiles."""
    frames = like(n_frames, 3000, 4000)
    planned = plan("panfocus", frames, least_memory("panfocus", frames, **settings), **settings)
    usual, _ = get_method("panfocus", **settings).foreseen((3000, 4000))
    for noise, scale, cropped in product((0.5, 25.0), (1, 4), (0, 17, 200)):
        found = dataclasses.replace(usual, noise=settings.get("noise", noise), scale=scale)
        left = like(n_frames, 3000 - cropped, 4000 - cropped)
        with limit_threads(2):
            assert tile_side(found, left, planned.tile_memory, halo=found.halo) >= 48


def test_of_slabs_what_is_worked_on_at_a_time_counts():
    """One slab of 20 frames, then the pictures of 10 slabs; labels are always kept."""
    spans = slab_spans(155, 20, 5)
    assert len(spans) == 10
    frames = like(155, 4000, 6000)
    by_slabs = least_memory("panfocus", frames, spans=spans)
    assert by_slabs == least_memory("panfocus", like(20, 4000, 6000), maps=("labels",))
    assert by_slabs < least_memory("panfocus", frames) - 200_000_000
    limit = 1_300_000_000
    assert plan("panfocus", frames, limit, spans=spans).side > plan("panfocus", frames, limit).side
    short = slab_spans(155, 5, 0)  # 31 pictures are more than the 5 frames of each
    assert least_memory("dwt", frames, spans=short) == least_memory(
        "dwt", like(31, 4000, 6000), maps=("labels",)
    )
    # A method that needs the whole image needs no more than a slab's frames.
    assert not plan("pca", frames, 7 * 10**9, spans=spans).in_memory


def test_each_demand_counts():
    frames = like(2, 1000, 1000)
    plain = plan("dwt", frames, 10**10).memory
    assert plan("dwt", frames, 10**10, refine=True).memory - plain == 136 * 3_000_000
    assert plan("dwt", frames, 10**10, maps=("labels",)).memory > plain
    assert plan("dwt", like(3, 1000, 1000), 10**10).memory - plain >= frames[0].nbytes
    assert plan("dwt", like(2, 1000, 1000, np.uint16), 10**10).memory > plain


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_alignment_counts_where_it_takes_most(dtype):
    """Two frames are resampled from one into the other, while the stack is in memory or on the disk."""
    frames = like(30, 4000, 6000, dtype)
    with limit_threads(2):
        aligning = alignment_bytes(frames)
    assert 2 * frames[0].nbytes < aligning < 2 * frames[0].nbytes + 200_000_000
    off, on = (plan("pca", frames, 10**11, align=align).memory for align in (False, True))
    assert on >= max(off, PROGRAM + frames.nbytes + aligning)


def test_what_finding_places_takes_grows_little_with_frames_and_not_with_their_size():
    with limit_threads(2):
        few, many = (alignment_bytes(like(n, 1100, 1400)) for n in (2, 200))
        assert few < 100_000_000
        assert 50_000_000 < many - few < 200 * 2 * 600_000  # what was found in two pairs a frame
        large, larger = (_registering(like(2, 1000 * k, 1500 * k)) for k in (4, 8))
    assert abs(larger - large) < 10_000_000


@pytest.mark.parametrize(("shape", "dtype"), [((3, 1200, 1300), np.uint8), ((3, 2100, 2500, 3), np.uint16)])
def test_alignment_takes_no_more_than_is_counted(rng, shape, dtype):
    """NumPy tells tracemalloc of every array; those inside of compiled loops are rows and small blocks."""
    texture = gaussian_filter(rng.random((shape[1] + 40, shape[2] + 40)), 2)
    texture = (np.iinfo(dtype).max * (texture - texture.min()) / np.ptp(texture)).astype(dtype)
    frames = np.empty(shape, dtype)
    for k, frame in enumerate(frames):
        cut = texture[5 * k : 5 * k + shape[1], 8 * k : 8 * k + shape[2]]
        frame[...] = cut if frame.ndim == 2 else cut[..., None]
    with limit_threads(2):
        allowed = alignment_bytes(frames)
        small = frames[:, :200, :200].copy()  # compiled before anything is counted
        apply_alignment(find_alignment(small, "shift"), small, small, borders="full")
        tracemalloc.start()
        try:
            found = find_alignment(frames, "shift")
            apply_alignment(found, frames, frames, borders="full")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    np.testing.assert_allclose(found.transforms[2][:2, 2], [-8, -5], atol=0.1)
    assert allowed / 4 < peak < allowed


def test_the_time_has_all_stages_in_it_and_cores_share_it():
    frames = like(10, 3000, 4000)
    plain = plan("panfocus", frames).seconds
    assert plan("panfocus", frames, threads=1).seconds == pytest.approx(2 * plain, rel=0.2)  # other tiles
    # Ten frames of 12 megapixels, by the seconds of one that are measured; two cores align.
    assert plan("panfocus", frames, align=True).seconds - plain == pytest.approx(10 * (0.12 + 12 * 0.135) / 2)
    assert plan("panfocus", frames, refine=True).seconds - plain >= 12 * 3


def test_without_a_limit_it_is_a_quarter_of_what_is_free_or_what_is_needed(monkeypatch):
    frames = like(100, 4000, 6000)
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: 10**10)
    assert plan("panfocus", frames) == plan("panfocus", frames, 10**10 // 4)
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: 2 * 10**9)
    assert 500_000_000 < plan("panfocus", frames).memory < 2 * 10**9
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: 500_000_000)
    with pytest.raises(InputError, match="more than the 500 MB free"):
        plan("panfocus", frames)
    monkeypatch.setattr("panfocus._memory.free_memory", lambda: None)
    assert plan("panfocus", frames) == plan("panfocus", frames, 2 * 10**9)
