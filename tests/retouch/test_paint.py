"""Painting compared with a calculation pixel by pixel; rectangles, threads and order."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panfocus._threads import limit_threads
from panfocus.errors import InputError
from panfocus.retouch import Stroke, Strokes, apply_strokes, changed_parts, paint_strokes
from panfocus.retouch import paint as paint_module

HEIGHT, WIDTH, N_FRAMES = 61, 75, 3
DTYPES = ("uint8", "uint16", "float32", "float64")


def frames_of(dtype, channels=(3,), seed=0):
    values = np.random.default_rng(seed).random((N_FRAMES, HEIGHT, WIDTH, *channels))
    return (values * np.iinfo(dtype).max).astype(dtype) if dtype[0] == "u" else values.astype(dtype)


def strokes_of(*strokes):
    return Strokes(WIDTH, HEIGHT, N_FRAMES, strokes)


def distance(row, col, points):
    """Return the distance from a place to a line, by the area of triangles over its segments."""
    best = min(math.dist((row, col), point) for point in points)
    for a, b in pairwise(points):
        along = (b[0] - a[0], b[1] - a[1])
        of_a = (row - a[0]) * along[0] + (col - a[1]) * along[1]
        of_b = (row - b[0]) * along[0] + (col - b[1]) * along[1]
        if of_a > 0 > of_b:
            area = (row - a[0]) * along[1] - (col - a[1]) * along[0]
            best = min(best, abs(area) / math.hypot(*along))
    return best


coordinates = st.one_of(st.integers(-9, 84), st.floats(-9, 84, allow_nan=False)).map(float)
some_strokes = st.builds(
    Stroke,
    frame=st.integers(0, N_FRAMES - 1),
    points=st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=6).map(tuple),
    radius=st.floats(0.3, 40),
    hardness=st.sampled_from([0.0, 0.3, 0.99, 1.0]),
    opacity=st.sampled_from([0.0, 0.2, 0.7, 1.0]),
    gain=st.sampled_from([None, (0.5, 1.0, 1.7)]),
)


@settings(max_examples=25, deadline=None)
@given(stroke=some_strokes, dtype=st.sampled_from(DTYPES))
def test_blending_follows_the_distance_from_the_line(stroke, dtype):
    image, *_ = frames = frames_of(dtype)
    result = apply_strokes(image, frames, strokes_of(stroke))
    white = np.iinfo(dtype).max if dtype[0] == "u" else np.inf
    for row in range(0, HEIGHT, 3):
        for col in range(0, WIDTH, 2):
            d = distance(row, col, stroke.points)
            soft = stroke.radius * (1 - stroke.hardness)
            if soft == 0:
                if abs(d - stroke.radius) < 1e-6:
                    continue  # either side is right
                alpha = stroke.opacity * (d < stroke.radius)
            else:
                alpha = stroke.opacity * min(max((stroke.radius - d) / soft, 0), 1)
            frame = np.minimum(
                frames[stroke.frame, row, col].astype(float) * (stroke.gain or (1, 1, 1)), white
            )
            expected = alpha * frame + (1 - alpha) * image[row, col]
            within = 0.5 + 1e-3 * (dtype == "uint16") if dtype[0] == "u" else 1e-6
            assert np.abs(result[row, col] - expected).max() <= within + 1e-6


@settings(max_examples=60, deadline=None)
@given(
    strokes=st.lists(some_strokes, max_size=4),
    rows=st.tuples(st.integers(0, HEIGHT - 1), st.integers(1, HEIGHT)),
    cols=st.tuples(st.integers(0, WIDTH - 1), st.integers(1, WIDTH)),
    dtype=st.sampled_from(DTYPES),
)
def test_rectangle_has_the_same_bits_as_the_whole(strokes, rows, cols, dtype):
    frames = frames_of(dtype)
    whole = paint_strokes(frames[0], frames, strokes)
    rows = slice(rows[0], max(rows[0] + 1, rows[1]))
    cols = slice(cols[0], max(cols[0] + 1, cols[1]))
    alone = paint_strokes(frames[0, rows, cols], frames, strokes, (rows.start, cols.start))
    np.testing.assert_array_equal(alone, whole[rows, cols])


@settings(max_examples=10, deadline=None)
@given(strokes=st.lists(some_strokes, min_size=1, max_size=4))
def test_tiles_and_threads_do_not_change_the_result(strokes):
    frames = frames_of("uint8")
    whole = paint_strokes(frames[0], frames, strokes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paint_module, "SIDE", 17)
        for n in (1, 3):
            with limit_threads(n):
                np.testing.assert_array_equal(paint_strokes(frames[0], frames, strokes), whole)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [(), (2,), (3,), (4,)])
def test_hard_brush_copies_the_frame_and_changes_nothing_else(dtype, channels):
    frames = frames_of(dtype, channels)
    stroke = Stroke(2, ((20.0, 20.0),), 5.0)
    result = apply_strokes(frames[0], frames, strokes_of(stroke))
    rows, cols = np.ogrid[:HEIGHT, :WIDTH]
    inside = (rows - 20) ** 2 + (cols - 20) ** 2 <= 25  # in whole numbers, exactly
    assert inside.sum() == 81  # lattice points in a circle of radius 5
    np.testing.assert_array_equal(result[inside], frames[2][inside])
    np.testing.assert_array_equal(result[~inside], frames[0][~inside])


def test_gains_do_not_change_alpha_and_are_clipped_at_white():
    frames = np.full((2, 9, 9, 4), 100, np.uint8)
    frames[1, ..., 2] = 200
    stroke = Stroke(1, ((4.0, 4.0),), 1.0, gain=(0.5, 1.014, 2.0))
    result = apply_strokes(frames[0], frames, Strokes(9, 9, 2, (stroke,)))
    np.testing.assert_array_equal(result[4, 4], [50, 101, 255, 100])


def test_later_strokes_cover_earlier_ones():
    frames = frames_of("uint8")
    one, other = Stroke(1, ((30.0, 30.0),), 9.0), Stroke(2, ((30.0, 38.0),), 9.0)
    forth = apply_strokes(frames[0], frames, strokes_of(one, other))
    back = apply_strokes(frames[0], frames, strokes_of(other, one))
    np.testing.assert_array_equal(forth[30, 34], frames[2, 30, 34])
    np.testing.assert_array_equal(back[30, 34], frames[1, 30, 34])


def test_equal_values_stay_equal_under_a_soft_brush():
    frames = np.repeat(frames_of("float64")[:1], 2, axis=0)
    stroke = Stroke(1, ((30.0, 30.0), (2.0, 60.0)), 30.0, hardness=0.0, opacity=0.37)
    np.testing.assert_array_equal(
        apply_strokes(frames[0], frames, Strokes(WIDTH, HEIGHT, 2, (stroke,))), frames[0]
    )


@settings(max_examples=30, deadline=None)
@given(
    kept=st.lists(some_strokes, max_size=2),
    old=st.lists(some_strokes, max_size=2),
    new=st.lists(some_strokes, max_size=2),
)
def test_repainting_changed_parts_gives_the_new_image(kept, old, new):
    """As the page does: by an undo the list gets shorter, by a stroke longer."""
    frames = frames_of("uint8")
    before, after = strokes_of(*kept, *old), strokes_of(*kept, *new)
    picture = paint_strokes(frames[0], frames, before.strokes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paint_module, "SIDE", 16)
        for rows, cols in changed_parts(before, after):
            picture[rows, cols] = paint_strokes(
                frames[0, rows, cols], frames, after.strokes, (rows.start, cols.start)
            )
    np.testing.assert_array_equal(picture, paint_strokes(frames[0], frames, after.strokes))


def test_only_tiles_within_reach_of_a_stroke_are_returned(monkeypatch):
    monkeypatch.setattr(paint_module, "SIDE", 16)
    dab = strokes_of(Stroke(1, ((20.0, 40.0),), 3.0))
    assert changed_parts(dab, strokes_of()) == [(slice(16, 32), slice(32, 48))]
    assert changed_parts(dab, dab) == []


@pytest.mark.parametrize(
    ("strokes", "got", "needed"),
    [
        (Strokes(WIDTH, HEIGHT, 2), N_FRAMES, 2),
        (Strokes(WIDTH + 1, HEIGHT, N_FRAMES), (WIDTH, HEIGHT), (WIDTH + 1, HEIGHT)),
        (strokes_of(Stroke(0, ((0.0, 0.0),), 1.0, gain=(1.0,))), 1, 3),
    ],
    ids=["frames", "size", "gain"],
)
def test_strokes_of_another_image_are_rejected(strokes, got, needed):
    frames = frames_of("uint8")
    with pytest.raises(InputError) as caught:
        apply_strokes(frames[0], frames, strokes)
    assert caught.value.facts == {"setting": "retouch", "got": got, "needed": needed}


def test_image_of_another_dtype_is_rejected():
    frames = frames_of("uint8")
    with pytest.raises(InputError) as caught:
        apply_strokes(frames[0].astype(np.uint16), frames, strokes_of())
    assert caught.value.facts["setting"] == "frames"
