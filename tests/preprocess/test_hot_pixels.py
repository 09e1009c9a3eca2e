"""Hot pixels are found and repaired; detail of the scene stays unchanged."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus._threads import limit_threads
from panfocus.io.read_stack import read_stack
from panfocus.preprocess.hot_pixels import RepairedFrames, find_hot_pixels
from panfocus.simulate import apply_defocus
from textures import as_bytes, texture

HOT = [(20, 30), (41, 77), (129, 12), (200, 60)]  # on both sides of a band's end at row 128


def stack(n=3, shape=(260, 100)):
    """Return grey frames, each blurred by a different radius."""
    return np.stack([as_bytes(0.2 + 0.5 * apply_defocus(texture(shape), 2.0 + k)) for k in range(n)])


def with_hot(frames, places=HOT, value=255):
    frames = frames.copy()
    for y, x in places:
        frames[:, y, x] = value
    return frames


def test_hot_pixels_are_replaced_by_the_median_of_their_neighbours():
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


def test_dead_pixels_are_found():
    assert find_hot_pixels(with_hot(stack(), [(50, 50)], 0)).fixed.tolist() == [[50, 50, 0]]


def test_hot_value_of_one_channel_is_found():
    frames = np.stack([stack()] * 3, axis=3)
    frames[:, 30, 40, 1] = 255
    found = find_hot_pixels(frames)
    assert found.fixed.tolist() == [[30, 40, 1]]
    np.testing.assert_array_equal(found.repair(frames)[:][..., 0], frames[..., 0])


def test_fixed_defects_of_a_pair_are_found_only_on_request():
    pair = np.full((2, 260, 100), 90, np.uint8)
    pair[:, :4] = 255  # the range is 165 levels: 25 are over a tenth, but under a fifth
    pair = with_hot(pair, value=115)
    assert find_hot_pixels(pair).n_fixed == 0
    assert find_hot_pixels(pair, in_pairs=True).n_fixed == 4


def test_clear_defects_of_single_frames_are_found():
    frames = stack()
    frames[1, 50, 50], frames[2, 90, 20] = 255, 0
    found = find_hot_pixels(frames)
    assert [places.tolist() for places in found.single] == [[], [[50, 50, 0]], [[90, 20, 0]]]
    assert (found.n_fixed, found.n_single) == (0, 2)
    assert abs(int(found.repair(frames)[1][50, 50]) - int(stack()[1, 50, 50])) < 12


@pytest.mark.parametrize("what", ["line", "dot", "grid", "fading", "two signs"])
def test_detail_of_the_scene_is_not_repaired(what):
    frames = np.full((3, 120, 120), 90, np.uint8)
    if what == "line":
        frames[:, 60, 20:100] = 250  # including its ends
    elif what == "dot":
        dot = np.zeros((120, 120))
        dot[60, 60] = 1
        frames += np.rint(150 * gaussian_filter(dot, 1) / gaussian_filter(dot, 1).max()).astype(np.uint8)
    elif what == "grid":
        frames[:, 5:115:8, 5:115:8] = 250
    elif what == "fading":  # like detail that gets out of focus
        frames[0, 60, 60], frames[1, 60, 60], frames[2, 60, 60] = 119, 110, 103
    else:
        frames[:, 60, 60] = 110, 70, 110
    frames[:, :4] = 255  # bright values set the range
    found = find_hot_pixels(frames)
    assert (found.n_fixed, found.n_single) == (0, 0)
    assert found.repair(frames) is frames


def test_parts_equal_the_whole_for_any_number_of_threads():
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
def test_other_dtypes_are_repaired(dtype):
    scale = 257 if dtype == np.uint16 else 1 / 255
    frames = (with_hot(stack()) * np.array(scale)).astype(dtype)
    found = find_hot_pixels(frames)
    assert found.n_fixed == 4
    assert found.repair(frames)[0].dtype == dtype


def test_flat_and_tiny_frames_have_no_defects():
    for frames in (np.full((3, 40, 40), 7, np.uint8), np.arange(27, dtype=np.uint8).reshape(3, 3, 3)):
        assert find_hot_pixels(frames).repair(frames) is frames


def test_report_counts_hot_pixels_and_repair_can_be_switched_off():
    frames = with_hot(stack())
    result = pf.fuse(frames)
    counts = {"fixed": 4, "single": 0, "clusters": 0, "doubtful_clusters": 0}
    assert result.report["hot_pixels"] == counts
    np.testing.assert_array_equal(
        result.image, pf.fuse(find_hot_pixels(frames).repair(frames)[:], hot_pixels="off").image
    )
    assert "hot_pixels" not in pf.fuse(frames, hot_pixels="off").report
    with pytest.raises(pf.InputError) as caught:
        pf.fuse(frames, hot_pixels="some")
    assert caught.value.facts["setting"] == "hot_pixels"


def test_real_stacks_have_no_hot_pixels(data_dir):
    lytro = sorted((data_dir / "lytro").glob("lytro-0[1-4]-*.jpg"))
    flies = sorted((data_dir / "stacks" / "amber-flies").glob("*.jpg"))
    for paths in (*(lytro[i : i + 2] for i in range(0, 8, 2)), flies):
        found = find_hot_pixels(read_stack(paths).frames, in_pairs=True)
        assert (found.n_fixed, found.n_single) == (0, 0)


def test_hot_pixels_of_a_real_camera_are_found_in_two_scenes(data_dir):
    """By chance, dozens of places among 800,000 would hardly coincide in two scenes of one camera."""
    folder = data_dir / "groundtruth" / "real-mff"
    places = []
    for scene in ("rmff-005", "rmff-105"):
        frames = read_stack([folder / f"{scene}-{part}.png" for part in "AB"]).frames
        found = find_hot_pixels(frames, in_pairs=True)
        places.append(set(map(tuple, found.fixed.tolist())))
        assert found.n_single == 0
        assert find_hot_pixels(frames).repair(frames) is frames  # two frames alone are not enough
    assert len(places[0] & places[1]) >= 2


def test_repaired_rectangle_equals_the_repaired_whole(rng):
    frames = rng.integers(9000, 11000, (4, 90, 110, 3)).astype(np.uint16)
    frames[:, [20, 40, 41], [30, 59, 60], [0, 1, 2]] = 60000
    found = find_hot_pixels(frames)
    assert found.n_fixed == 3
    whole = found.repair(frames)[:]
    rows, cols = slice(19, 42), slice(29, 61)  # one more pixel on each side than is compared
    part = found.within(rows, cols).repair(frames[:, rows, cols])
    np.testing.assert_array_equal(part[:, 1:-1, 1:-1], whole[:, 20:41, 30:60])
