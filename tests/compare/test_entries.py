import json
import shutil

import numpy as np
import pytest

from panfocus.compare.entries import check_names, file_name, parse_methods, parse_results
from panfocus.compare.scenes import find_groups
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import FileError, InputError
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image, read_stack
from panfocus.pipeline import fuse


def test_commas_separate_methods_and_colons_settings():
    first, second = parse_methods("coupled, coupled:w=0.6:stride=2")
    assert (first.name, first.method, first.settings) == ("coupled", "coupled", {})
    assert (second.name, second.settings) == ("coupled:w=0.6:stride=2", {"w": 0.6, "stride": 2})
    assert "eps=0.1" in second.about
    assert second.identity(None)["settings"]["w"] == 0.6


@pytest.mark.parametrize(
    "text",
    [
        "magic",
        "coupled,",
        "coupled:w",
        "coupled:w=0.5:w=0.6",
        "coupled:omega=1",
        "coupled:w=high",
        "coupled:w=1.5",
        "coupled:dictionary=level3",
        "coupled:dictionary=ksvd",
        "sr-cm:dictionary=ksvd",
    ],
)
def test_a_wrong_method_or_setting_is_rejected(text):
    with pytest.raises(InputError):
        parse_methods(text)


def test_a_dictionary_is_identified_by_its_atoms(tmp_path):
    levels = CoupledDictionary.default().levels
    CoupledDictionary(levels, origin="one").save(tmp_path / "same.npz")
    CoupledDictionary(-levels, origin="one").save(tmp_path / "negated.npz")

    def identity(dictionary):
        (entry,) = parse_methods(f"coupled:dictionary={dictionary}")
        return json.dumps(entry.identity(None))

    (default,) = parse_methods("coupled")
    expected = json.dumps(default.identity(None))
    assert identity(tmp_path / "same.npz") == identity("levels2") == expected
    assert identity(tmp_path / "negated.npz") != expected


def test_a_method_gives_the_result_of_fuse(scenes_dir):
    (group,) = find_groups([scenes_dir])
    stack = read_stack(group.scenes[0].sources)
    (entry,) = parse_methods("coupled:stride=3")
    result = entry.result(group.scenes[0], stack)
    np.testing.assert_array_equal(result.image, fuse(stack.frames, "coupled", stride=3).image)


def test_results_are_matched_to_scenes_by_name(scenes_dir, average_dir, small_scenes):
    (average_dir / "cup_fused.png").rename(average_dir / "cup.png")
    (average_dir / "box-2_fused.png").rename(average_dir / "box-2-by-mean.png")
    groups = find_groups([scenes_dir])
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    assert {scene: path.name for (_, scene), path in entry.pictures.items()} == {
        "cup": "cup.png",
        "box-2": "box-2-by-mean.png",
        "box-10": "box-10_fused.png",
    }
    scene = groups[0].scenes[0]
    result = entry.result(scene, read_stack(scene.sources))
    np.testing.assert_array_equal(
        result.image, np.rint(small_scenes["box-2"][:2].mean(axis=0)).astype(np.uint8)
    )


def test_a_scene_may_have_no_result(scenes_dir, average_dir):
    (average_dir / "cup_fused.png").unlink()
    groups = find_groups([scenes_dir])
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    assert [entry.has(scene) for scene in groups[0].scenes] == [True, True, False]


def test_the_longest_scene_name_and_the_exact_file_name_win(scenes_dir, average_dir):
    for part in ("A", "B"):
        shutil.copy(scenes_dir / f"cup-{part}.png", scenes_dir / f"cup-old-{part}.png")
    shutil.copy(average_dir / "cup_fused.png", average_dir / "cup-old.png")
    shutil.copy(average_dir / "cup_fused.png", average_dir / "cup-old-labels.png")
    (entry,) = parse_results([f"mean={average_dir}"], find_groups([scenes_dir]))
    assert entry.pictures["scenes", "cup"].name == "cup_fused.png"
    assert entry.pictures["scenes", "cup-old"].name == "cup-old.png"


def test_groups_with_equal_scene_names_need_separate_folders(scenes_dir, average_dir):
    shutil.copytree(scenes_dir, scenes_dir.parent / "others")
    groups = find_groups([scenes_dir, scenes_dir.parent / "others"])
    with pytest.raises(FileError) as caught:
        parse_results([f"mean={average_dir}"], groups)
    assert caught.value.facts["file"] == average_dir
    shutil.copytree(average_dir, average_dir / "others")
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    assert entry.pictures["others", "cup"].parent.name == "others"
    assert entry.pictures["scenes", "cup"].parent.name == "average"


@pytest.mark.parametrize("text", ["average", "=average", "mean="])
def test_results_need_a_name_and_a_folder(scenes_dir, text):
    with pytest.raises(InputError) as caught:
        parse_results([text], find_groups([scenes_dir]))
    assert caught.value.facts == {"setting": "results", "got": text}


def test_unusable_folders_of_results_are_rejected(scenes_dir, average_dir, tmp_path, message):
    groups = find_groups([scenes_dir])
    (tmp_path / "strange").mkdir()
    shutil.copy(average_dir / "cup_fused.png", tmp_path / "strange" / "mug.png")
    # Missing, with several candidates for a scene, and without any.
    for folder in (tmp_path / "nowhere", scenes_dir, tmp_path / "strange"):
        with pytest.raises(FileError) as caught:
            parse_results([f"mean={folder}"], groups)
        assert caught.value.facts["file"] == folder
    message("compare: no result matches", str(caught.value), folder=tmp_path / "strange")


@pytest.mark.parametrize(
    "image", [np.zeros((40, 30, 3), np.uint8), np.full((40, 33, 3), 300, np.uint16)], ids=["size", "depth"]
)
def test_a_result_that_does_not_match_the_frames_is_named(scenes_dir, average_dir, image):
    write_image(average_dir / "cup_fused.png", image, force=True)
    groups = find_groups([scenes_dir])
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    scene = groups[0].scenes[2]
    with pytest.raises(FileError) as caught:
        entry.result(scene, read_stack(scene.sources))
    assert caught.value.facts["file"] == str(average_dir / "cup_fused.png")


@pytest.mark.parametrize(
    ("frames", "stored"), [(np.uint16, np.uint8), (np.uint8, np.uint16)], ids=["8 in 16", "16 in 8"]
)
def test_a_result_of_another_depth_is_converted_without_loss(scenes_dir, average_dir, frames, stored):
    factors = {np.uint8: 1, np.uint16: 257}
    path = average_dir / "cup_fused.png"
    image = read_image(path)
    write_image(path, image.astype(stored) * stored(factors[stored]), force=True)
    for source in scenes_dir.glob("cup-*.png"):
        write_image(source, read_image(source).astype(frames) * frames(factors[frames]), force=True)
    groups = find_groups([scenes_dir])
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    scene = groups[0].scenes[2]
    result = entry.result(scene, read_stack(scene.sources))
    np.testing.assert_array_equal(result.image, image.astype(frames) * frames(factors[frames]))
    assert result.report["scaled_from"] == np.dtype(stored).name


def test_entries_need_distinct_names():
    methods = parse_methods("coupled,coupled:w=0.6,coupled")
    assert file_name(methods[1]) == "coupled_w=0.6"
    check_names(methods[:2])
    with pytest.raises(InputError) as caught:
        check_names(methods)
    assert caught.value.facts["got"] == "coupled"
