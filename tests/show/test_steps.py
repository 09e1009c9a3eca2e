"""Pictures of the steps of a fusion."""

import numpy as np

from panfocus.result import FusionResult
from panfocus.show.steps import LARGEST_SIDE, step_pictures, sweep


def test_steps_show_what_the_method_provides(rng):
    frames = rng.integers(0, 256, (3, 13, 17), np.uint8)
    labels = rng.integers(0, 3, (13, 17), np.uint8)
    result = FusionResult(frames[0], labels=labels, depth=labels.astype(np.float32), slabs=frames[:2])
    pictures = dict(step_pictures(frames, result))
    assert list(pictures)[:2] == ["1-frame-01", "2-grey-01"]
    assert list(pictures)[6:] == ["4-slab-01", "4-slab-02", "5-labels", "7-depth", "9-fused"]
    np.testing.assert_array_equal(pictures["5-labels"], pictures["7-depth"])
    np.testing.assert_array_equal(pictures["9-fused"][..., 0], frames[0])


def test_sweep_lights_each_depth_in_turn():
    image = np.full((20, 2 * LARGEST_SIDE), 200, np.uint8)
    depth = np.linspace(0, 3, image.size, dtype=np.float32).reshape(image.shape[::-1]).T
    pictures = list(sweep(image, depth, 4))
    assert pictures[0].shape == (10, LARGEST_SIDE, 3)
    assert pictures[0][0, 0, 0] == pictures[-1][0, -1, 0] == 200
    assert pictures[0][0, -1, 0] == pictures[-1][0, 0, 0] == 40
