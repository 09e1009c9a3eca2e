import numpy as np
import pytest
from benchmarks.stack_kinds import KINDS

from benchmarks import _known_stack, bright_field_stacks, fluorescence_stacks

MODULES = [bright_field_stacks, fluorescence_stacks]


@pytest.fixture
def small(monkeypatch, tmp_path):
    monkeypatch.setattr(_known_stack, "CACHE", tmp_path)
    for module in MODULES:
        monkeypatch.setattr(module, "MARGIN", 4)
        monkeypatch.setattr(module, "SHAPE", (48, 56))
        monkeypatch.setattr(module, "HEIGHT", 40)
        monkeypatch.setattr(module, "WIDTH", 48)


@pytest.mark.parametrize("module", MODULES)
def test_the_halves_share_neither_seeds_nor_settings(module):
    recipes = {
        half: [recipe for of_kind in module._recipes(half).values() for recipe in of_kind.values()]
        for half in _known_stack.HALVES
    }
    assert {recipe.style for recipe in recipes["choose"]} == {0}
    assert {recipe.style for recipe in recipes["report"]} == {1}
    seeds = [recipe.seed for half in recipes.values() for recipe in half]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("module", MODULES)
def test_the_kinds_are_columns_of_the_table_of_kinds(module):
    for half in _known_stack.HALVES:
        for kind in module._recipes(half):
            assert KINDS[kind] == module.__name__.rpartition(".")[2]


@pytest.mark.parametrize("module", MODULES)
def test_fresh_stacks_have_the_shapes_of_their_truth_and_repeat(module, small, tmp_path):
    first = list(module.fresh(2, 7))
    for path in tmp_path.iterdir():
        path.unlink()
    for stack, again in zip(first, module.fresh(2, 7), strict=True):
        assert stack.image.shape == stack.frames.shape[1:]
        assert stack.image.dtype == stack.frames.dtype
        assert stack.depth.shape == stack.counted.shape
        assert stack.depth.shape[:2] == (40, 48)
        np.testing.assert_array_equal(stack.frames, again.frames)


def test_frames_in_focus_are_near_the_truth(small, monkeypatch):
    """Copying beads from the frame nearest to their true depth gives half the error of the next frames."""
    for name, value in {"SHAPE": (200, 248), "HEIGHT": 192, "WIDTH": 240}.items():
        monkeypatch.setattr(fluorescence_stacks, name, value)
    recipe = fluorescence_stacks.Recipe(("beads",), 1, 7, 1.0, 4.0)
    stack = fluorescence_stacks.make("fluorescence", "test", "beads", recipe)

    def error(offset):
        labels = np.clip(np.rint(stack.depth) + offset, 0, 6).astype(int)
        picked = np.take_along_axis(stack.frames, labels[None], axis=0)[0]
        return np.abs(picked.astype(float) - stack.image)[stack.counted].mean()

    assert error(0) < 0.5 * min(error(-1), error(1))
