"""What is no part of the scene is found and repaired; what may be one is left."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus._threads import limit_threads
from panfocus.io.read_stack import read_stack
from panfocus.preprocess import RepairedFrames, find_hot_pixels
from panfocus.simulate import defocused
from textures import as_bytes, texture

HOT = [(20, 30), (41, 77), (129, 12), (200, 60)]  # on both sides of a band's end, at 128


def stack(n=3, shape=(260, 100)):
    """Grey frames, each blurred another way."""
    return np.stack([as_bytes(0.2 + 0.5 * defocused(texture(shape), 2.0 + k)) for k in range(n)])


def with_hot(frames, places=HOT, value=255):
    frames = frames.copy()
    for y, x in places:
        frames[:, y, x] = value
    return frames


def test_pixels_that_stand_alone_in_every_frame_are_found_and_replaced_by_the_median_beside():
    frames = stack()
    hot = with_hot(frames)
    found = find_hot_pixels(hot)
    assert found.fixed.tolist() == [[y, x, 0] for y, x in HOT]
    assert (found.n_fixed, found.n_single) == (4, 0)
    expected = hot.copy()
    for k in range(3):
        for y, x in HOT:
            beside = np.delete(hot[k, y - 1 : y + 2, x - 1 : x + 2].ravel(), 4)
            expected[k, y, x] = np.sort(beside)[3]
    np.testing.assert_array_equal(found.repair(hot)[:], expected)
    assert np.abs(expected.astype(int) - frames).max() < 12


def test_dead_pixels_and_pairs_of_hot_ones_too():
    frames = with_hot(with_hot(stack(), [(50, 50)], 0), [(90, 40), (90, 41)])
    assert find_hot_pixels(frames).fixed.tolist() == [[50, 50, 0], [90, 40, 0], [90, 41, 0]]


def test_one_channel_may_be_hot():
    frames = np.stack([stack()] * 3, axis=3)
    frames[:, 30, 40, 1] = 255
    found = find_hot_pixels(frames)
    assert found.fixed.tolist() == [[30, 40, 1]]
    np.testing.assert_array_equal(found.repair(frames)[:][..., 0], frames[..., 0])


def test_a_pair_may_have_fine_detail_alike_but_for_what_it_is_told():
    pair = np.full((2, 260, 100), 90, np.uint8)
    pair[:, :4] = 255  # the range is 165 levels: a tenth stands out, less than a fifth is not clear by itself
    pair = with_hot(pair, value=115)
    assert find_hot_pixels(pair).n_fixed == 0
    assert find_hot_pixels(pair, in_pairs=True).n_fixed == 4


def test_what_stands_alone_in_one_frame_is_found_if_it_is_clear():
    frames = stack()
    frames[1, 50, 50], frames[2, 90, 20] = 255, 0
    found = find_hot_pixels(frames)
    assert [places.tolist() for places in found.single] == [[], [[50, 50, 0]], [[90, 20, 0]]]
    assert (found.n_fixed, found.n_single) == (0, 2)
    assert abs(int(found.repair(frames)[1][50, 50]) - int(stack()[1, 50, 50])) < 12


@pytest.mark.parametrize("what", ["line", "dot", "grid", "fading", "two signs"])
def test_what_may_be_of_the_scene_is_left(what):
    frames = np.full((3, 120, 120), 90, np.uint8)
    if what == "line":
        frames[:, 60, 20:100] = 250  # and its ends
    elif what == "dot":
        dot = np.zeros((120, 120))
        dot[60, 60] = 1
        frames += np.rint(150 * gaussian_filter(dot, 1) / gaussian_filter(dot, 1).max()).astype(np.uint8)
    elif what == "grid":
        frames[:, 5:115:8, 5:115:8] = 250
    elif what == "fading":  # as of a thing that gets out of focus
        frames[0, 60, 60], frames[1, 60, 60], frames[2, 60, 60] = 119, 110, 103
    else:
        frames[:, 60, 60] = 110, 70, 110
    frames[:, :4] = 255  # something bright: the range
    found = find_hot_pixels(frames)
    assert (found.n_fixed, found.n_single) == (0, 0)
    assert found.repair(frames) is frames


def test_any_part_is_that_of_the_whole_and_of_any_number_of_threads():
    frames = with_hot(np.stack([stack()] * 4, axis=3)[..., :4])
    results = []
    for threads in (1, 3):
        with limit_threads(threads):
            results.append(find_hot_pixels(frames).repair(frames))
    view = results[0]
    assert isinstance(view, RepairedFrames)
    whole = view[:]
    np.testing.assert_array_equal(results[1][:], whole)
    np.testing.assert_array_equal(whole[..., 3], frames[..., 3])  # alpha has no hot pixels
    np.testing.assert_array_equal(view[1, 10:45, 25:80], whole[1, 10:45, 25:80])
    np.testing.assert_array_equal(view[1:, 20:21, 30:31], whole[1:, 20:21, 30:31])
    np.testing.assert_array_equal(view[2, 15:140], whole[2, 15:140])


@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_other_kinds_of_numbers(dtype):
    scale = 257 if dtype == np.uint16 else 1 / 255
    frames = (with_hot(stack()) * np.array(scale)).astype(dtype)
    found = find_hot_pixels(frames)
    assert found.n_fixed == 4
    assert found.repair(frames)[0].dtype == dtype


def test_flat_and_tiny_frames_have_none():
    for frames in (np.full((3, 40, 40), 7, np.uint8), np.arange(27, dtype=np.uint8).reshape(3, 3, 3)):
        assert find_hot_pixels(frames).repair(frames) is frames


def test_the_report_counts_them_and_they_can_be_left():
    frames = with_hot(stack())
    result = pf.fuse(frames)
    assert result.report["hot_pixels"] == {"fixed": 4, "single": 0}
    np.testing.assert_array_equal(
        result.image, pf.fuse(find_hot_pixels(frames).repair(frames)[:], hot_pixels="off").image
    )
    assert "hot_pixels" not in pf.fuse(frames, hot_pixels="off").report
    with pytest.raises(pf.InputError, match="hot_pixels must be one of auto, on, off"):
        pf.fuse(frames, hot_pixels="some")


def test_real_stacks_have_none(data_dir):
    lytro = sorted((data_dir / "lytro").glob("lytro-0[1-4]-*.jpg"))
    flies = sorted((data_dir / "stacks" / "amber-flies").glob("*.jpg"))
    for paths in (*(lytro[i : i + 2] for i in range(0, 8, 2)), flies):
        found = find_hot_pixels(read_stack(paths).frames, in_pairs=True)
        assert (found.n_fixed, found.n_single) == (0, 0)


def test_real_hot_pixels_are_found_again_in_another_scene(data_dir):
    """Two scenes of one camera: by chance, none of some dozens among 800,000 values would be in both."""
    folder = data_dir / "groundtruth" / "real-mff"
    places = []
    for scene in ("rmff-005", "rmff-105"):
        frames = read_stack([folder / f"{scene}-{part}.png" for part in "AB"]).frames
        found = find_hot_pixels(frames, in_pairs=True)
        places.append(set(map(tuple, found.fixed.tolist())))
        assert found.n_single == 0
        assert find_hot_pixels(frames).repair(frames) is frames  # which two frames alone do not tell
    assert len(places[0] & places[1]) >= 2


def test_those_of_a_rectangle_repair_it_as_the_whole_is_repaired(rng):
    frames = rng.integers(9000, 11000, (4, 90, 110, 3)).astype(np.uint16)
    frames[:, [20, 40, 41], [30, 59, 60], [0, 1, 2]] = 60000
    found = find_hot_pixels(frames)
    assert found.n_fixed == 3
    whole = found.repair(frames)[:]
    rows, cols = slice(19, 42), slice(29, 61)  # with a pixel around what is compared
    part = found.within(rows, cols).repair(frames[:, rows, cols])
    np.testing.assert_array_equal(part[:, 1:-1, 1:-1], whole[:, 20:41, 30:60])
