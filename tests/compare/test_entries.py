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


def test_methods_are_separated_by_commas_and_their_settings_by_colons():
    first, second = parse_methods("coupled, coupled:w=0.6:stride=2")
    assert (first.name, first.method, first.settings) == ("coupled", "coupled", {})
    assert (second.name, second.settings) == ("coupled:w=0.6:stride=2", {"w": 0.6, "stride": 2})
    assert "eps=0.1" in second.about
    assert second.identity("group", None)["settings"]["w"] == 0.6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("magic", "unknown method 'magic'"),
        ("coupled,", "unknown method ''"),
        ("coupled:w", "NAME=VALUE"),
        ("coupled:w=0.5:w=0.6", "w"),
        ("coupled:omega=1", "no setting 'omega'"),
        ("coupled:w=high", "w=high"),
        ("coupled:w=1.5", "1.5"),
        ("coupled:dictionary=level3", "no dictionary 'level3'"),
        ("coupled:dictionary=ksvd", "two or more levels"),
        ("sr-cm:dictionary=ksvd", "'sr-cm' has no setting 'dictionary'"),
    ],
)
def test_a_mistake_in_a_method_is_refused_at_once(text, words):
    with pytest.raises(InputError, match=words):
        parse_methods(text)


def test_a_dictionary_counts_by_its_atoms_and_not_by_what_is_said_of_them(tmp_path):
    levels = CoupledDictionary.default().levels
    CoupledDictionary(levels, origin="one").save(tmp_path / "same.npz")
    CoupledDictionary(-levels, origin="one").save(tmp_path / "turned.npz")

    def identity(dictionary):
        (entry,) = parse_methods(f"coupled:dictionary={dictionary}")
        return json.dumps(entry.identity("group", None))

    (default,) = parse_methods("coupled")
    expected = json.dumps(default.identity("group", None))
    assert identity(tmp_path / "same.npz") == identity("levels2") == expected
    assert identity(tmp_path / "turned.npz") != expected


def test_a_method_fuses_a_scene_as_the_library_does(scenes_dir):
    (group,) = find_groups([scenes_dir])
    stack = read_stack(group.scenes[0].sources)
    (entry,) = parse_methods("coupled:stride=3")
    result = entry.result(group.name, group.scenes[0], stack)
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
    result = entry.result("scenes", scene, read_stack(scene.sources))
    np.testing.assert_array_equal(
        result.image, np.rint(small_scenes["box-2"][:2].mean(axis=0)).astype(np.uint8)
    )


def test_a_scene_without_a_result_is_known(scenes_dir, average_dir):
    (average_dir / "cup_fused.png").unlink()
    groups = find_groups([scenes_dir])
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    assert [entry.has("scenes", scene) for scene in groups[0].scenes] == [True, True, False]


def test_the_longest_scene_name_wins_and_the_exact_file_name(scenes_dir, average_dir):
    for part in ("A", "B"):
        shutil.copy(scenes_dir / f"cup-{part}.png", scenes_dir / f"cup-old-{part}.png")
    shutil.copy(average_dir / "cup_fused.png", average_dir / "cup-old.png")
    shutil.copy(average_dir / "cup_fused.png", average_dir / "cup-old-labels.png")
    (entry,) = parse_results([f"mean={average_dir}"], find_groups([scenes_dir]))
    assert entry.pictures["scenes", "cup"].name == "cup_fused.png"
    assert entry.pictures["scenes", "cup-old"].name == "cup-old.png"


def test_groups_with_scenes_of_one_name_need_folders_of_their_own(scenes_dir, average_dir):
    shutil.copytree(scenes_dir, scenes_dir.parent / "others")
    groups = find_groups([scenes_dir, scenes_dir.parent / "others"])
    with pytest.raises(FileError, match=r"scene of two groups; .*average/others"):
        parse_results([f"mean={average_dir}"], groups)
    shutil.copytree(average_dir, average_dir / "others")
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    assert entry.pictures["others", "cup"].parent.name == "others"
    assert entry.pictures["scenes", "cup"].parent.name == "average"


def test_mistakes_in_results_are_refused(scenes_dir, average_dir, tmp_path):
    groups = find_groups([scenes_dir])
    for text in ("average", "=average", "mean="):
        with pytest.raises(InputError, match="NAME=DIR"):
            parse_results([text], groups)
    with pytest.raises(FileError, match="nowhere: there is no such folder"):
        parse_results([f"mean={tmp_path / 'nowhere'}"], groups)
    with pytest.raises(FileError, match=r"any of box-2-A\.png, box-2-B\.png, box-2-GT\.png could be"):
        parse_results([f"mean={scenes_dir}"], groups[:1])
    (tmp_path / "strange").mkdir()
    shutil.copy(average_dir / "cup_fused.png", tmp_path / "strange" / "mug.png")
    with pytest.raises(FileError, match=r"named after a scene, such as box-2\.png"):
        parse_results([f"mean={tmp_path / 'strange'}"], groups)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros((40, 30, 3), np.uint8), "30 x 40"),
        (np.full((40, 33, 3), 300, np.uint16), "uint16"),
    ],
)
def test_a_result_unlike_its_frames_is_named(scenes_dir, average_dir, image, words):
    write_image(average_dir / "cup_fused.png", image, force=True)
    groups = find_groups([scenes_dir])
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    scene = groups[0].scenes[2]
    with pytest.raises(FileError, match=rf"cup_fused\.png is .*{words}"):
        entry.result("scenes", scene, read_stack(scene.sources))


@pytest.mark.parametrize(
    ("frames", "given"), [(np.uint16, np.uint8), (np.uint8, np.uint16)], ids=["8 in 16", "16 in 8"]
)
def test_a_result_of_another_depth_is_brought_to_that_of_the_frames_exactly(
    scenes_dir, average_dir, frames, given
):
    factors = {np.uint8: 1, np.uint16: 257}
    path = average_dir / "cup_fused.png"
    image = read_image(path)
    write_image(path, image.astype(given) * given(factors[given]), force=True)
    for source in scenes_dir.glob("cup-*.png"):
        write_image(source, read_image(source).astype(frames) * frames(factors[frames]), force=True)
    groups = find_groups([scenes_dir])
    (entry,) = parse_results([f"mean={average_dir}"], groups)
    scene = groups[0].scenes[2]
    result = entry.result("scenes", scene, read_stack(scene.sources))
    np.testing.assert_array_equal(result.image, image.astype(frames) * frames(factors[frames]))
    assert result.report["scaled_from"] == np.dtype(given).name


def test_entries_need_names_of_their_own_in_tables_and_files(scenes_dir, average_dir):
    methods = parse_methods("coupled,coupled:w=0.6,coupled")
    assert file_name(methods[1]) == "coupled_w=0.6"
    check_names(methods[:2])
    with pytest.raises(InputError, match="coupled is compared with itself"):
        check_names(methods)
