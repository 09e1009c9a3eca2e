import numpy as np

from panfocus.reproduce.elements import Box
from panfocus.reproduce.image_sets import MASK_SCENES, SceneImages, read_inputs
from panfocus.reproduce.training import Origin, find_crop, find_training_pairs, section, training_scenes
from small_sets import TRAINING_SCENES, cut_box


def test_a_crop_is_found_at_its_origin(rng):
    image = rng.integers(0, 4, (40, 33), dtype=np.uint8)  # few levels: many candidates
    for box in (Box(0, 0, 9, 12), Box(31, 21, 9, 12), Box(13, 5, 20, 20)):
        assert find_crop(image[box.place], image) == box


def test_a_crop_that_differs_by_one_level_is_not_found(rng):
    image = rng.integers(0, 256, (40, 33), dtype=np.uint8)
    crop = image[5:15, 6:20].copy()
    crop[4, 9] ^= 1
    assert find_crop(crop, image) is None
    assert find_crop(np.zeros((41, 5), np.uint8), image) is None


def test_crops_are_found_in_their_scenes(small_data):
    inputs = read_inputs(small_data)
    pairs = find_training_pairs(inputs.training, inputs.lytro)
    for pair, (scene, sharp_frame, box) in zip(pairs, map(cut_box, TRAINING_SCENES), strict=True):
        assert pair.origins == {
            "focused": Origin(scene, sharp_frame, box),
            "blurred": Origin(scene, 1 - sharp_frame, box),
        }
        assert len(pair.frames) == 2


def test_the_section_counts_crops_and_names_overlap(small_data, rng):
    inputs = read_inputs(small_data)
    pairs = find_training_pairs(inputs.training, inputs.lytro)
    assert "All 10 training crops" in section(pairs, ["Lab"]).body
    assert "Crops come from lytro-02" in section(pairs, ["lytro-02"]).body
    unknown = SceneImages("p6", rng.integers(0, 256, (2, 20, 20), dtype=np.uint8))
    more = find_training_pairs([*inputs.training, unknown], inputs.lytro)
    assert "10 of 12 training crops" in section(more, ["Lab"]).body


def test_a_crop_of_a_grey_set_is_found(small_data):
    lab = next(scene for scene in read_inputs(small_data).grey if scene.name == "Lab")
    crop = SceneImages("p1", lab.frames[:, 3:23, 5:30])
    pairs = find_training_pairs([crop], [lab])
    assert pairs[0].origins["focused"] == Origin("Lab", 0, Box(3, 5, 20, 25))
    assert training_scenes(pairs) == ["Lab"]


def test_the_authors_crops_are_cut_outs_of_five_lytro_pairs(data_dir):
    inputs = read_inputs(data_dir)
    pairs = find_training_pairs(inputs.training, inputs.lytro)
    scenes = [pair.origins["focused"].scene for pair in pairs]
    assert scenes == ["lytro-07", "lytro-09", "lytro-12", "lytro-13", "lytro-17"]
    assert not set(MASK_SCENES) & set(scenes)  # masks use other scenes
    for pair in pairs:
        focused = pair.origins["focused"]
        assert pair.origins["blurred"] == Origin(focused.scene, 1 - focused.frame, focused.box)
