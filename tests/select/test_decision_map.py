import numpy as np
import pytest

from panfocus.select import majority


def test_the_frame_with_most_votes_wins_by_its_share(rng):
    votes = rng.integers(0, 40, (3, 13, 17)).astype(np.uint16)
    votes[1] += 1
    labels, share = majority(votes)
    for place in np.ndindex(13, 17):
        here = votes[(slice(None), *place)].tolist()
        assert labels[place] == here.index(max(here))
        assert np.isclose(share[place], max(here) / sum(here), rtol=1e-6)


def test_unanimity_is_exactly_one():
    votes = np.zeros((2, 13, 17), np.uint16)
    votes[1] = 49
    labels, share = majority(votes)
    assert (labels == 1).all()
    assert (share == 1).all()
    assert share.dtype == np.float32


def test_on_a_tie_the_earlier_frame_wins():
    labels, share = majority(np.array([[[3]], [[5]], [[5]]], np.uint16))
    assert labels[0, 0] == 1
    assert np.isclose(share[0, 0], 5 / 13)


@pytest.mark.parametrize(("n_frames", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_labels_have_room_for_all_frames(n_frames, dtype):
    votes = np.zeros((n_frames, 1, 1), np.uint16)
    votes[-1] = 1
    labels, _ = majority(votes)
    assert labels.dtype == dtype
    assert labels[0, 0] == n_frames - 1
