import re

import numpy as np
import pytest
import tifffile

from panfocus.dictionary import CoupledDictionary
from panfocus.io.encode import write_image

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


REGION = """[[region]]
focused = "a.png"
blurred = "b.png"
top = 2
left = 0
height = {height}
width = 16
"""


@pytest.fixture
def pair():
    return ("--focused", "a.png", "--blurred", "b.png")


def test_pairs_give_a_dictionary_of_the_requested_size(folder, run, pair):
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
    (folder / "regions.toml").write_text(REGION.format(height=30))
    assert run("learn", "--regions", "regions.toml", *QUICK).code == 0
    assert "1 regions of regions.toml" in CoupledDictionary.load("learned.npz").origin


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_sharp_images_give_the_requested_levels(folder, run, levels):
    assert run("learn", "--images", ".", *QUICK, "--levels", levels).code == 0
    assert CoupledDictionary.load("learned.npz").n_levels == levels


def test_separate_learning_is_recorded(folder, run, pair):
    assert run("learn", *pair, *QUICK, "--separate").code == 0
    assert CoupledDictionary.load("learned.npz").settings["separate"] is True


def test_error_of_first_and_last_round_is_printed_for_each_level(folder, run, pair, monkeypatch):
    learned = []
    learn = CoupledDictionary.learn

    def remember(*arguments, **options):
        learned.append(learn(*arguments, **options))
        return learned[-1]

    monkeypatch.setattr(CoupledDictionary, "learn", remember)
    for options in ((), ("--separate", "--force")):
        out = run("learn", *pair, *QUICK, *options).out
        errors = [f"{step.objective:.4f}" for step in learned[-1].history]
        assert [number for number in re.findall(r"\d\.\d{4}\b", out) if number in errors] == errors


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        ([], 2, ["--focused", "--images", "--regions"]),
        (["--images", ".", "--regions", "r.toml"], 2, ["--images", "--regions"]),
        (["--focused", "a.png"], 2, ["--blurred"]),
        (["--focused", "a.png", "--blurred", "b.png", "--levels", "3"], 2, ["--levels", "3", "--images"]),
        (["--focused", "a.png", "--blurred", "b.png", "--levels", "1"], 2, ["--levels", "1", "--images"]),
        (["--images", ".", "--levels", "0"], 2, ["--levels"]),
        (["--images", ".", "--atoms", "0"], 2, ["--atoms"]),
        (["--images", ".", "--atoms", "5000"], 2, ["5000", "8192"]),
        (["--images", ".", "--patch-size", "21"], 1, ["flat.png", "20 x 20", "21 x 21"]),
        (["--focused", "flat.png", "--blurred", "flat.png", "--patch-size", "21"], 1, ["flat.png", "21"]),
        (["--regions", "tiny.toml"], 1, ["tiny.toml", "1", "16 x 3", "5 x 5"]),
        (["--images", ".", "-o", "learned.txt"], 2, ["learned.txt", ".npz"]),
        (["--images", ".", "-o", "existing.npz"], 1, ["existing.npz", "--force"]),
        (["--images", "empty"], 1, ["empty"]),
        (["--focused", "a.png", "--blurred", "small.png"], 1, ["a.png", "small.png"]),
        (["--regions", "r.toml"], 1, ["r.toml"]),
        (["--focused", "flat.png", "--blurred", "flat.png"], 1, []),
        (["--images", "flat.png"], 1, ["flat.png"]),
        (["--images", "gray.tif"], 1, ["gray.tif (page 1)", "gray.tif (page 2)"]),
        (["--focused", "gray.tif", "--blurred", "a.png"], 1, ["gray.tif", "2"]),
    ],
)
def test_wrong_arguments_are_rejected(folder, fails, scene, arguments, code, names):
    write_image("small.png", scene[0][:-1])
    write_image("flat.png", np.zeros((20, 20), np.uint8))
    pages = np.stack([np.full((20, 20), value, np.uint16) for value in (5, 7)])
    tifffile.imwrite("gray.tif", pages, photometric="minisblack")
    (folder / "tiny.toml").write_text(REGION.format(height=3))
    (folder / "empty").mkdir()
    (folder / "existing.npz").touch()
    fails("learn", *QUICK, *arguments, code=code, names=names)


def test_few_training_patches_cause_a_warning(folder, run, pair):
    ran = run("learn", *pair, *QUICK, "--samples", 10**6)
    assert ran.code == 0
    assert ran.err.count("warning:") == 1


def learn_from(run, *images):
    """Learn from images; return the dictionary, its last error and the number of warnings."""
    names = [argument for image in images for argument in ("--images", image)]
    ran = run("learn", *names, *QUICK, "--force")
    assert ran.code == 0, ran
    error = float(re.findall(r"\d\.\d{4}\b", ran.out)[-1])
    return CoupledDictionary.load("learned.npz"), error, ran.err.count("warning:")


def test_narrow_data_in_16_bits_learns_detail_not_noise(folder, run, scene):
    gray = scene[0, ..., 1]
    tifffile.imwrite("8.tif", gray)
    tifffile.imwrite("12.tif", gray.astype(np.uint16) * 16)
    tifffile.imwrite("dark.tif", gray.astype(np.uint16))
    full, *narrow = (learn_from(run, name) for name in ("8.tif", "12.tif", "dark.tif"))
    for learned, error, n_warnings in narrow:
        assert error == pytest.approx(full[1], rel=0.02)
        assert n_warnings == 0
        assert learned.settings["n_samples"] == full[0].settings["n_samples"]


def test_all_pages_of_a_file_are_used(folder, run, scene):
    pages = scene[..., 1]
    tifffile.imwrite("pages.tif", pages, photometric="minisblack")
    for number, page in enumerate(pages):
        tifffile.imwrite(f"{number}.tif", page)
    stack, *_ = learn_from(run, "pages.tif")
    files, *_ = learn_from(run, "0.tif", "1.tif")
    np.testing.assert_array_equal(stack.levels, files.levels)
    assert "pages.tif (2 pages)" in stack.origin


def test_flat_images_are_skipped_with_a_warning(folder, run):
    write_image("flat.png", np.full((200, 200), 90, np.uint8))
    expected, _, n_warnings = learn_from(run, "a.png")
    assert n_warnings == 0
    learned, _, n_warnings = learn_from(run, "a.png", "flat.png")
    np.testing.assert_array_equal(learned.levels, expected.levels)
    assert n_warnings == 1


def test_mostly_flat_images_cause_a_warning(folder, run, scene):
    image = np.full((200, 200), 90, np.uint8)
    image[:40, :33] = scene[0, ..., 1]
    write_image("corner.png", image)
    assert learn_from(run, "corner.png")[2] == 1
    assert learn_from(run, "corner.png", "a.png")[2] == 1  # a.png is small
