import numpy as np

from panfocus.reproduce.masks import count_regions


def test_regions_are_connected_by_sides_not_by_corners():
    labels = np.array([[0, 0, 1, 1], [0, 0, 1, 0], [1, 0, 0, 1]])
    # Of 0: the large one, and the single one on the right, which touches by a corner only. Of 1: three.
    assert count_regions(labels) == 2 + 3
