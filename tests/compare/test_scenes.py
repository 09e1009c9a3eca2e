import shutil
import string

import pytest

from panfocus.compare.scenes import find_groups
from panfocus.errors import FileError, InputError


def names(paths):
    return [path.name for path in paths]


def test_scenes_are_found_in_natural_order(scenes_dir):
    (group,) = find_groups([scenes_dir])
    assert group.name == "scenes"
    assert [scene.name for scene in group.scenes] == ["box-2", "box-10", "cup"]
    assert names(group.scenes[1].sources) == ["box-10-A.png", "box-10-B.png"]
    assert group.scenes[1].reference.name == "box-10-GT.png"
    assert group.ignored == ()


def test_a_reference_may_be_named_ref_or_be_absent(scenes_dir):
    (scenes_dir / "cup-GT.png").rename(scenes_dir / "cup-ref.png")
    (scenes_dir / "box-2-GT.png").unlink()
    (group,) = find_groups([scenes_dir])
    assert group.scenes[2].reference.name == "cup-ref.png"
    assert group.scenes[0].reference is None


def test_a_scene_may_have_more_than_two_frames_of_several_formats(scenes_dir):
    shutil.copy(scenes_dir / "cup-A.png", scenes_dir / "cup-C.webp")
    (group,) = find_groups([scenes_dir])
    assert names(group.scenes[2].sources) == ["cup-A.png", "cup-B.png", "cup-C.webp"]


def test_images_of_other_names_are_ignored_and_listed(scenes_dir):
    for name in ("contents.png", "cup-a.png", "cup-labels.png", "notes.txt"):
        shutil.copy(scenes_dir / "cup-A.png", scenes_dir / name)
    (group,) = find_groups([scenes_dir])
    assert sorted(names(group.ignored)) == ["contents.png", "cup-a.png", "cup-labels.png"]
    assert len(group.scenes) == 3


def test_frame_letters_continue_after_z(scenes_dir):
    letters = [*string.ascii_uppercase, "AA", "AB"]
    for letter in letters[2:]:
        shutil.copy(scenes_dir / "cup-A.png", scenes_dir / f"cup-{letter}.png")
    (group,) = find_groups([scenes_dir])
    assert names(group.scenes[2].sources) == [f"cup-{letter}.png" for letter in letters]
    assert group.scenes[2].reference.name == "cup-GT.png"
    (scenes_dir / "cup-AA.png").unlink()
    with pytest.raises(FileError, match="AA"):
        find_groups([scenes_dir])


def test_a_word_in_capitals_is_not_a_frame(scenes_dir):
    for name in ("cup-HD.png", "README-FIRST.png"):
        shutil.copy(scenes_dir / "cup-A.png", scenes_dir / name)
    (group,) = find_groups([scenes_dir])
    assert sorted(names(group.ignored)) == ["README-FIRST.png", "cup-HD.png"]
    assert len(group.scenes) == 3


@pytest.mark.parametrize(
    ("add", "remove", "n_mistakes"),
    [
        ([], ["cup-B.png"], 1),
        ([], ["cup-A.png"], 1),
        ([], ["cup-A.png", "cup-B.png"], 1),
        (["cup-D.png"], [], 1),
        (["cup-A.jpg"], [], 1),
        (["cup-ref.png"], [], 1),
        (["lid-A.png"], ["cup-B.png"], 2),
    ],
)
def test_incomplete_and_ambiguous_scenes_are_rejected(scenes_dir, add, remove, n_mistakes):
    for name in add:
        shutil.copy(scenes_dir / "cup-A.png", scenes_dir / name)
    for name in remove:
        (scenes_dir / name).unlink()
    with pytest.raises(FileError) as caught:
        find_groups([scenes_dir])
    assert caught.value.facts["file"] == scenes_dir
    assert len(caught.value.facts["mistakes"]) == n_mistakes
    assert "cup" in caught.value.facts["mistakes"][0]


def test_groups_are_named_by_the_part_of_the_path_that_differs(scenes_dir):
    for place in ("one/set", "two/set", "scenes/inner"):
        shutil.copytree(scenes_dir, scenes_dir.parent / place, ignore=shutil.ignore_patterns("inner"))
    folders = [scenes_dir.parent / place for place in ("one/set", "two/set", "scenes", "scenes/inner")]
    assert [group.name for group in find_groups(folders)] == ["one/set", "two/set", "scenes", "scenes/inner"]
    assert [group.name for group in find_groups(folders[:1])] == ["set"]


def test_unusable_folders_are_rejected(scenes_dir, tmp_path, message):
    with pytest.raises(InputError):
        find_groups([scenes_dir, scenes_dir / ".." / "scenes"])
    with pytest.raises(FileError) as caught:
        find_groups([tmp_path / "nowhere"])
    assert caught.value.facts["file"] == tmp_path / "nowhere"
    (tmp_path / "other").mkdir()
    with pytest.raises(FileError):
        find_groups([tmp_path / "other"])
    shutil.copy(scenes_dir / "cup-A.png", tmp_path / "other" / "cup.png")
    with pytest.raises(FileError) as caught:
        find_groups([tmp_path / "other"])
    message("compare: no scene", str(caught.value), folder=tmp_path / "other")
