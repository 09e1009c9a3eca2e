import numpy as np
from benchmarks.occlusion_stacks import LIGHT_FIELDS, SETTINGS, find_sharpest, read_light_field
from scipy.ndimage import convolve

from panfocus.simulate import disk


def test_halves_share_no_seeds_or_light_fields():
    seeds = [setting.seed for settings in SETTINGS.values() for setting in settings.values()]
    assert len(set(seeds)) == len(seeds) == 10
    assert not set(LIGHT_FIELDS["choose"]) & set(LIGHT_FIELDS["report"])


def test_the_sharpest_frame_is_clear_where_there_is_texture(rng):
    # Frame i is blurred by a disk of radius |i - 1|; the right half has no texture, so nothing tells there.
    image = rng.random((40, 60)) * 200
    image[:, 30:] = 90.0
    frames = np.stack([image if i == 1 else convolve(image, disk(abs(i - 1.0))) for i in range(7)])
    noisy = frames + rng.normal(0, 1, frames.shape)
    best, is_clear = find_sharpest(noisy[..., None], image[..., None])
    inside = np.s_[5:-5, 5:20]
    assert (best[inside] == 1).all()
    assert is_clear[inside].all()
    assert is_clear[:, 45:].mean() < 0.05


def test_light_fields_have_their_truth(data_dir):
    stack = read_light_field("report", "dino")
    assert stack.frames.shape == (11, 464, 464, 3)
    assert stack.image.shape == stack.frames.shape[1:]
    errors = ((stack.frames.astype(float) - stack.image) ** 2).mean(axis=-1)
    nearest = np.take_along_axis(errors, stack.depth[None], axis=0)[0]
    assert nearest[stack.counted].mean() < 0.5 * errors.mean(axis=0)[stack.counted].mean()
