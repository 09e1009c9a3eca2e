import numpy as np
import pytest
from PIL import Image

from panfocus import CoupledDictionary
from panfocus.dictionary import Learning, learn_coupled
from panfocus.dictionary.training import data_range, sample_patches
from panfocus.errors import FileError, InputError
from panfocus.simulate import apply_defocus

QUICK = {"patch_size": 4, "n_atoms": 12, "max_atoms": 2, "rounds": 2, "n_samples": 300}


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(2)
    sharp = [rng.random((23, 31)), rng.random((27, 19))]
    return [sharp] + [[apply_defocus(image, radius) for image in sharp] for radius in (1.5, 3.0)]


@pytest.fixture(scope="module")
def learned(images):
    return CoupledDictionary.learn(*images[:2], **QUICK, rng=5, origin="a test")


def test_learned_dictionary_has_the_requested_sizes(learned):
    assert learned.levels.shape == (2, 16, 12)
    assert (learned.n_levels, learned.n_atoms, learned.patch_size) == (2, 12, 4)
    assert learned.levels.dtype == np.float32
    assert len(learned.history) == 2
    np.testing.assert_allclose(np.linalg.norm(learned.levels, axis=1), 1, atol=1e-6)


def test_matrix_has_all_levels_side_by_side(learned):
    assert learned.matrix.shape == (16, 24)
    np.testing.assert_array_equal(learned.matrix[:, :12], learned.levels[0])
    np.testing.assert_array_equal(learned.focused, learned.levels[0])
    np.testing.assert_array_equal(learned.matrix[:, 12:], learned.levels[1])


def test_pair_correlations_are_cosines_of_corresponding_atoms(images):
    three = CoupledDictionary.learn(*images, **QUICK)
    correlations = three.pair_correlations()
    assert correlations.shape == (2, 12)
    for level in range(2):
        for i in range(12):
            cosine = three.levels[level][:, i] @ three.levels[level + 1][:, i]
            assert np.isclose(correlations[level, i], cosine, atol=1e-6)


def test_settings_of_learning_are_recorded(learned, message):
    assert learned.settings == {
        "n_atoms": 12, "max_atoms": 2, "rounds": 2, "update_cycles": 1, "start": "samples",
        "focused_weight": None, "separate": False, "n_samples": 300,
    }  # fmt: skip
    assert learned.seed == 5
    assert learned.origin == "a test"
    message("dictionary-description", str(learned))


def test_minimum_contrast_and_focus_maps_are_recorded(images, tmp_path):
    learned = CoupledDictionary.learn(images[0], **QUICK, min_contrast=0.01, of_focus_maps=True)
    learned.save(tmp_path / "maps.npz")
    loaded = CoupledDictionary.load(tmp_path / "maps.npz")
    assert loaded.settings["min_contrast"] == 0.01
    assert loaded.of_focus_maps


def test_saving_and_loading_changes_nothing(learned, tmp_path):
    learned.save(tmp_path / "d.npz")
    loaded = CoupledDictionary.load(str(tmp_path / "d.npz"))
    np.testing.assert_array_equal(loaded.levels, learned.levels)
    assert (loaded.origin, loaded.settings, loaded.seed) == ("a test", learned.settings, 5)
    assert loaded.history == ()


def test_existing_file_is_overwritten_only_with_force(learned, tmp_path):
    learned.save(tmp_path / "d.npz")
    with pytest.raises(FileError):
        learned.save(tmp_path / "d.npz")
    learned.save(tmp_path / "d.npz", force=True)


def test_sharp_images_alone_give_one_level_by_ksvd(images, message):
    alone = CoupledDictionary.learn(images[0], **QUICK, rng=5)
    assert alone.levels.shape == (1, 16, 12)
    assert alone.pair_correlations().shape == (0, 12)
    np.testing.assert_array_equal(alone.matrix, alone.levels[0])
    message("dictionary-description-one-level", str(alone))
    rng = np.random.default_rng(5)
    (samples,) = sample_patches(images[:1], patch_size=4, n_samples=300, rng=rng)
    atoms, history = learn_coupled([samples], Learning(n_atoms=12, max_atoms=2, rounds=2), rng=rng)
    np.testing.assert_array_equal(alone.levels, atoms)
    assert [r.objective for r in alone.history] == [r.objective for r in history]


def test_one_level_is_saved_and_loaded_like_several(images, tmp_path):
    alone = CoupledDictionary.learn(images[0], **QUICK)
    alone.save(tmp_path / "d.npz")
    np.testing.assert_array_equal(CoupledDictionary.load(tmp_path / "d.npz").levels, alone.levels)


def test_focused_weight_needs_blurred_images(images):
    with pytest.raises(InputError) as caught:
        CoupledDictionary.learn(images[0], **QUICK, focused_weight=0.5)
    assert caught.value.facts == {"setting": "focused_weight", "got": 0.5}


def test_dictionary_is_found_by_name_or_file(learned, tmp_path, message):
    assert CoupledDictionary.find("levels3") is CoupledDictionary.default("levels3")
    learned.save(tmp_path / "ksvd.npz")
    for path in (tmp_path / "ksvd.npz", str(tmp_path / "ksvd.npz")):
        np.testing.assert_array_equal(CoupledDictionary.find(path).levels, learned.levels)
    with pytest.raises(InputError) as caught:
        CoupledDictionary.find("level2")
    message("dictionary-unknown", str(caught.value))
    with pytest.raises(FileError):
        CoupledDictionary.find("none.npz")


def test_digest_depends_only_on_the_atoms(learned):
    renamed = CoupledDictionary(learned.levels.copy(), origin="elsewhere", seed=9)
    assert renamed.digest == learned.digest
    turned = CoupledDictionary(-learned.levels, learned.origin, learned.settings, learned.seed)
    assert turned.digest != learned.digest
    two_levels, one_level = (CoupledDictionary(np.ones(shape)) for shape in ((2, 1, 4), (1, 1, 8)))
    assert two_levels.levels.tobytes() == one_level.levels.tobytes()
    assert two_levels.digest != one_level.digest


@pytest.mark.parametrize(
    ("name", "n_levels"), [("levels2", 2), ("levels3", 3), ("ksvd", 1), ("focus-maps", 1)]
)
def test_shipped_dictionaries_record_their_learning(name, n_levels):
    shipped = CoupledDictionary.default(name)
    assert shipped.levels.shape == (n_levels, 64, 256)
    np.testing.assert_allclose(np.linalg.norm(shipped.levels, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(shipped.levels.mean(axis=1), 0, atol=1e-5)
    assert {"n_atoms", "max_atoms", "rounds", "n_samples"} <= shipped.settings.keys()
    assert shipped.of_focus_maps == (name == "focus-maps")
    assert isinstance(shipped.seed, int)
    assert shipped.origin
    assert shipped.settings["n_atoms"] == 256


def test_shipped_atoms_lose_detail_from_level_to_level():
    def roughness(atoms):
        tiles = atoms.T.reshape(-1, 8, 8)
        return (np.diff(tiles, axis=1) ** 2).sum() + (np.diff(tiles, axis=2) ** 2).sum()

    for name in ("levels2", "levels3"):
        rough = [roughness(level) for level in CoupledDictionary.default(name).levels]
        assert (np.diff(rough) < 0).all()


def test_unknown_default_is_rejected():
    with pytest.raises(InputError, check=lambda error: "levels2" in error.facts["known"]):
        CoupledDictionary.default("levels9")


@pytest.mark.parametrize("shape", [(16, 12), (0, 16, 12), (2, 15, 12)])
def test_arrays_of_wrong_shape_are_rejected(shape):
    with pytest.raises(InputError) as caught:
        CoupledDictionary(np.zeros(shape, np.float32))
    assert caught.value.facts == {"setting": "levels", "got": shape}


def test_the_same_seed_gives_the_same_bits(images, learned):
    again, other = (CoupledDictionary.learn(*images[:2], **QUICK, rng=seed) for seed in (5, 6))
    np.testing.assert_array_equal(again.levels, learned.levels)
    assert not np.array_equal(other.levels, learned.levels)


def test_generator_learns_like_its_seed_and_is_not_recorded(images, learned):
    by_generator = CoupledDictionary.learn(*images[:2], **QUICK, rng=np.random.default_rng(5))
    np.testing.assert_array_equal(by_generator.levels, learned.levels)
    assert by_generator.seed is None


def test_single_image_is_accepted(images):
    alone, listed = (
        CoupledDictionary.learn(*pair, **QUICK)
        for pair in ((images[0][0], images[1][0]), (images[0][:1], images[1][:1]))
    )
    np.testing.assert_array_equal(alone.levels, listed.levels)


def test_array_of_images_is_accepted(images):
    stacks = [np.stack([image[:19, :19] for image in level]) for level in images[:2]]
    stacked, listed = (
        CoupledDictionary.learn(*levels, **QUICK) for levels in (stacks, [list(s) for s in stacks])
    )
    np.testing.assert_array_equal(stacked.levels, listed.levels)


def test_equal_weights_are_the_default(images, learned):
    half, most = (CoupledDictionary.learn(*images[:2], **QUICK, rng=5, focused_weight=w) for w in (0.5, 0.9))
    np.testing.assert_array_equal(half.levels, learned.levels)
    assert not np.array_equal(most.levels, learned.levels)
    assert most.settings["focused_weight"] == 0.9


def test_separate_learning_is_recorded(images):
    separate = CoupledDictionary.learn(*images[:2], **QUICK, separate=True)
    assert separate.levels.shape == (2, 16, 12)
    assert separate.settings["separate"] is True
    assert len(separate.history) == 2 * QUICK["rounds"]


def test_coupled_atoms_correlate_more_than_separate_ones(data_dir):
    sharp, soft = [], []
    for i in range(1, 6):
        for images, kind in ((sharp, "f"), (soft, "b")):
            with Image.open(data_dir / "training" / "pairs" / f"p{i}{kind}.png") as picture:
                images.append(np.asarray(picture.convert("L")) / 255)
    coupled, separate = (
        CoupledDictionary.learn(sharp, soft, n_atoms=96, n_samples=6000, rounds=6, separate=separate)
        for separate in (False, True)
    )
    assert coupled.pair_correlations().mean() > 0.25
    assert abs(separate.pair_correlations().mean()) < 0.1
    for one in coupled.history:
        course = np.array([one.objective_coded, *one.objectives])
        assert (np.diff(course) <= 1e-12 * course[:-1]).all()


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("weight", [0, 1, -0.5, 2, np.nan])
def test_weight_out_of_range_is_rejected(images, weight, separate):
    with pytest.raises(InputError) as caught:
        CoupledDictionary.learn(*images[:2], **QUICK, focused_weight=weight, separate=separate)
    assert caught.value.facts["setting"] == "focused_weight"


def test_levels_with_different_numbers_of_images_are_rejected(images):
    with pytest.raises(InputError) as caught:
        CoupledDictionary.learn(images[0], images[1][:1], **QUICK)
    assert caught.value.facts == {"got": [2, 1]}


def test_too_few_patches_are_rejected(images):
    with pytest.raises(InputError) as caught:
        CoupledDictionary.learn(*images[:2], **QUICK | {"n_atoms": 301})
    assert caught.value.facts == {"setting": "n_atoms", "got": 300, "needed": 301}


def test_unknown_setting_is_rejected(images):
    with pytest.raises(TypeError):
        CoupledDictionary.learn(*images[:2], n_atom=12)


@pytest.mark.parametrize("value", [0.0, np.nan, 2.0])
def test_atoms_of_wrong_norm_are_rejected(value):
    levels = np.zeros((2, 4, 3))
    levels[:, 0] = 1
    levels[1, 0, 2] = value
    with pytest.raises(InputError) as caught:
        CoupledDictionary(levels)
    assert caught.value.facts == {"setting": "levels"}


def test_8_bit_training_images_are_scaled_to_unit_range(rng):
    images = rng.integers(0, 256, (2, 40, 50)).astype(np.uint8)
    learned, scaled = (
        CoupledDictionary.learn(*(level for level in data), n_atoms=16, patch_size=4, rounds=2, n_samples=500)
        for data in (images, images / np.float32(255))
    )
    np.testing.assert_array_equal(learned.levels, scaled.levels)


def test_settings_of_numpy_types_are_saved_as_plain_numbers(rng, tmp_path):
    images = rng.random((2, 30, 40))
    learned = CoupledDictionary.learn(*images, n_atoms=np.int64(16), rounds=1, rng=np.int64(3))
    learned.save(tmp_path / "d.npz")
    assert CoupledDictionary.load(tmp_path / "d.npz").seed == 3


@pytest.mark.parametrize("bits", [10, 12])
def test_contrast_threshold_follows_the_bit_depth_of_the_data(rng, bits):
    data = rng.integers(0, 2**bits, (40, 50)).astype(np.uint16)
    data[:, :25] = 2**bits // 2 + rng.integers(0, 2, (40, 25))  # less contrast than 1/255 of the range
    options = {"patch_size": 4, "n_atoms": 16, "rounds": 1, "n_samples": 1000}
    narrow, wide = (CoupledDictionary.learn(image[None], **options) for image in (data, data << 16 - bits))
    assert narrow.settings["n_samples"] == wide.settings["n_samples"] == 925  # those over the right half
    assert narrow.settings["min_contrast"] == pytest.approx(2.0 ** (bits - 16) / 255)
    assert "min_contrast" not in wide.settings
    np.testing.assert_allclose(narrow.levels, wide.levels, atol=1e-4)


def test_data_in_the_upper_half_of_the_range_has_the_full_threshold():
    image = np.zeros((4, 4))
    for brightest, expected in [(1.0, 1.0), (0.51, 1.0), (0.5, 0.5), (4095 / 65535, 1 / 16), (0.0, 1.0)]:
        image[0, 0] = brightest
        assert data_range([[image], [image / 2]]) == expected


def test_few_training_patches_are_reported(images, message, caplog):
    learned = CoupledDictionary.learn(*images[:2], **QUICK | {"n_samples": 30_000})
    (notice,) = learned.notices
    message("learn-few-patches", str(notice))
    assert str(notice) in caplog.text
    assert not CoupledDictionary.learn(*images[:2], **QUICK).notices
