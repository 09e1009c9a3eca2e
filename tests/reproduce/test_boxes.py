import numpy as np

from panfocus.reproduce.elements import GREEN, RED, Box, draw_boxes, find_differences


def test_squares_mark_the_largest_differences(rng):
    first = rng.random((60, 50))
    second = first.copy()
    second[7:17, 30:40] += 0.5  # the side of a square is 10: one fifth of 50
    second[44:54, 3:13] -= 0.3
    assert find_differences([first, second], 2) == [Box(7, 30, 10, 10), Box(44, 3, 10, 10)]


def test_squares_of_equal_results_are_inside_the_image():
    same = np.zeros((21, 13))
    for box in find_differences([same, same], 2):
        assert same[box.place].shape == (box.height, box.width)


def test_boxes_change_only_their_lines(rng):
    image = rng.integers(0, 200, (20, 24), dtype=np.uint8)
    drawn = draw_boxes(image, {RED: Box(3, 4, 9, 10), GREEN: Box(13, 0, 7, 6)})
    assert drawn.shape == (20, 24, 3)
    assert (drawn[3:5, 4:14] == RED).all()
    assert (drawn[10:12, 4:14] == RED).all()
    assert (drawn[13:20, 0:2] == GREEN).all()
    assert np.array_equal(drawn[5:10, 6:12, 1], image[5:10, 6:12])
    changed = (drawn != image[..., None]).any(axis=2)
    assert changed.sum() == (9 * 10 - 5 * 6) + (7 * 6 - 3 * 2)
