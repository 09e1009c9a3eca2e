import numpy as np
import pytest

from panfocus.dictionary import CoupledDictionary
from panfocus.io.write import write_image

QUICK = (
    "--atoms",
    16,
    "--patch-size",
    5,
    "--rounds",
    2,
    "--samples",
    400,
    "--max-atoms",
    3,
    "-o",
    "learned.npz",
)


@pytest.fixture
def pair():
    return ("--focused", "a.png", "--blurred", "b.png")


def test_pairs_give_a_dictionary_of_the_wanted_size(folder, run, pair):
    ran = run("learn", *pair, *pair, *QUICK, "--seed", 3)
    assert (ran.code, ran.err) == (0, "")
    learned = CoupledDictionary.load("learned.npz")
    assert learned.levels.shape == (2, 25, 16)
    assert learned.seed == 3
    assert "a.png" in learned.origin
    assert "learned.npz" in ran.out


def test_the_same_seed_gives_the_same_bytes(folder, run, pair):
    contents = []
    for seed in (1, 1, 2):
        run("learn", *pair, *QUICK, "--seed", seed, "--force")
        contents.append((folder / "learned.npz").read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_regions_give_a_dictionary(folder, run):
    table = '[[region]]\nfocused = "a.png"\nblurred = "b.png"\ntop = 2\nleft = 0\nheight = 30\nwidth = 16\n'
    (folder / "regions.toml").write_text(table)
    assert run("learn", "--regions", "regions.toml", *QUICK).code == 0
    assert "1 regions of regions.toml" in CoupledDictionary.load("learned.npz").origin


@pytest.mark.parametrize("levels", [2, 3])
def test_sharp_pictures_give_as_many_levels_as_wanted(folder, run, levels):
    assert run("learn", "--images", ".", *QUICK, "--levels", levels).code == 0
    assert CoupledDictionary.load("learned.npz").n_levels == levels


def test_separate_learning_is_recorded(folder, run, pair):
    assert run("learn", *pair, *QUICK, "--separate").code == 0
    assert CoupledDictionary.load("learned.npz").settings["separate"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, ["exactly one source"]),
        (["--images", ".", "--regions", "r.toml"], 2, ["exactly one source"]),
        (["--focused", "a.png"], 2, ["in pairs"]),
        (["--focused", "a.png", "--blurred", "b.png", "--levels", "3"], 2, ["--levels 3", "--images"]),
        (["--images", ".", "--atoms", "0"], 2, ["--atoms"]),
        (["--images", ".", "-o", "learned.txt"], 2, ["learned.txt", ".npz"]),
        (["--images", ".", "-o", "existing.npz"], 1, ["existing.npz", "--force"]),
        (["--images", "empty"], 1, ["empty", "no image"]),
        (["--focused", "a.png", "--blurred", "small.png"], 1, ["a.png", "small.png", "size"]),
        (["--regions", "r.toml"], 1, ["r.toml", "no such file"]),
        (["--focused", "flat.png", "--blurred", "flat.png"], 1, ["contrast"]),
    ],
)
def test_a_wrong_command_is_one_line(folder, run, scene, arguments, code, words):
    write_image("small.png", scene[0][:-1])
    write_image("flat.png", np.zeros((20, 20), np.uint8))
    (folder / "empty").mkdir()
    (folder / "existing.npz").touch()
    before = sorted(folder.iterdir())
    ran = run("learn", *QUICK, *arguments)
    assert ran.code == code
    assert len(ran.err.splitlines()) == 1
    assert all(word in ran.err for word in words), ran.err
    assert sorted(folder.iterdir()) == before
