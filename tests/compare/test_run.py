import dataclasses
import shutil

import numpy as np
import pytest

from panfocus.compare import (
    Conditions,
    comparison,
    find_groups,
    list_trials,
    parse_methods,
    parse_results,
    run_trials,
)
from panfocus.compare.scoring import score_images
from panfocus.dictionary import CoupledDictionary
from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import digest
from panfocus.io.encode import write_image
from panfocus.io.jpeg_webp import decode_jpeg
from panfocus.io.read_stack import read_image
from panfocus.metrics import matlab_gray, score
from panfocus.pipeline import fuse

CONDITIONS = Conditions(metrics=("NMI", "QABF", "MSE", "PSNR"))


@pytest.fixture
def trials(scenes_dir, average_dir, tmp_path):
    """Return the plan of a comparison of one fast method with averaging, under some conditions."""

    def trials(conditions=CONDITIONS, methods="coupled:stride=4"):
        groups = find_groups([scenes_dir])
        entries = [*parse_methods(methods), *parse_results([f"average={average_dir}"], groups)]
        return list_trials(groups, entries, conditions, tmp_path / "results")

    return trials


def kept(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_images_labels_and_scores_match_the_library(trials, small_scenes, tmp_path):
    results, reused = run_trials(trials(), workers=1)
    assert reused == 0
    *frames, reference = small_scenes["box-2"]
    expected = fuse(frames, "coupled", stride=4)
    np.testing.assert_array_equal(read_image(results[0].image), expected.image)
    np.testing.assert_array_equal(read_image(results[0].labels), expected.labels)
    assert results[1].labels is None
    planes = [matlab_gray(image) for image in (*frames, expected.image, reference)]
    assert results[0].scores == score(planes[:2], planes[2], reference=planes[3], keys=CONDITIONS.metrics)
    files = {f"{name}{end}" for name in small_scenes for end in (".png", ".json")}
    labels = {f"labels/{name}.png" for name in small_scenes}
    assert kept(tmp_path / "results/average") == {f"scenes/{name}" for name in files}
    assert kept(tmp_path / "results/coupled_stride=4") == {f"scenes/{name}" for name in files | labels}


def test_processes_give_the_same_results_in_order(trials, tmp_path):
    parallel, _ = run_trials(trials(), workers=2)
    pictures = [result.image.read_bytes() for result in parallel]
    shutil.rmtree(tmp_path / "results")
    alone, reused = run_trials(trials(), workers=1)
    assert reused == 0
    assert alone == parallel
    assert [result.image.read_bytes() for result in alone] == pictures


def test_progress_ends_at_one(trials):
    calls = []
    run_trials(trials(), workers=1, progress=lambda stage, done: calls.append((stage, done)))
    assert calls[:3] == [("check", i / 3) for i in (1, 2, 3)]
    assert calls[3:] == [("compare", i / 6) for i in range(7)]


def test_a_second_run_reuses_everything(trials, monkeypatch):
    first, _ = run_trials(trials(), workers=1)
    monkeypatch.delattr(comparison, "_run_trial")
    assert run_trials(trials(), workers=1) == (first, 6)


def altered_source(scenes_dir, average_dir):
    path = scenes_dir / "cup-A.png"
    write_image(path, 255 - read_image(path), force=True)


def altered_reference(scenes_dir, average_dir):
    path = scenes_dir / "cup-GT.png"
    write_image(path, 255 - read_image(path), force=True)


def no_reference(scenes_dir, average_dir):
    (scenes_dir / "cup-GT.png").unlink()


def altered_result(scenes_dir, average_dir):
    path = average_dir / "cup_fused.png"
    write_image(path, 255 - read_image(path), force=True)


@pytest.mark.parametrize(
    ("change", "n_new"),
    [(altered_source, 2), (altered_reference, 2), (no_reference, 2), (altered_result, 1)],
)
def test_a_changed_file_invalidates_its_results(trials, scenes_dir, average_dir, change, n_new):
    run_trials(trials(), workers=1)
    change(scenes_dir, average_dir)
    _, reused = run_trials(trials(), workers=1)
    assert reused == 6 - n_new


@pytest.mark.parametrize(
    "change", [{"crop": 1}, {"jpeg": 90}, {"metrics": ("NMI",)}], ids=["crop", "jpeg", "metrics"]
)
def test_other_conditions_invalidate_everything(trials, change):
    run_trials(trials(), workers=1)
    _, reused = run_trials(trials(dataclasses.replace(CONDITIONS, **change)), workers=1)
    assert reused == 0


def test_fingerprints_include_default_settings(trials):
    run_trials(trials(), workers=1)
    (same, *_), (other, *_) = (
        trials(methods=text) for text in ("coupled:stride=4:w=0.55", "coupled:stride=4:w=0.6")
    )
    original = trials()[0]
    assert comparison._fingerprint(same, digest) == comparison._fingerprint(original, digest)
    assert comparison._fingerprint(other, digest) != comparison._fingerprint(original, digest)


def test_a_changed_dictionary_file_invalidates_its_results(trials, tmp_path):
    levels = CoupledDictionary.default().levels[:, :, :70]
    CoupledDictionary(levels).save(tmp_path / "mine.npz")
    methods = f"sr-ksvd:stride=4:dictionary={tmp_path / 'mine.npz'}"
    first, _ = run_trials(trials(methods=methods), workers=1)
    assert run_trials(trials(methods=methods), workers=1) == (first, 6)
    CoupledDictionary(levels[:, :, ::-1]).save(tmp_path / "mine.npz", force=True)
    assert run_trials(trials(methods=methods), workers=1)[1] == 3


def test_changed_code_invalidates_everything(trials, monkeypatch):
    run_trials(trials(), workers=1)
    monkeypatch.setattr(comparison, "_code_digest", lambda: "changed")
    assert run_trials(trials(), workers=1)[1] == 0


def test_a_deleted_image_is_computed_again(trials):
    results, _ = run_trials(trials(), workers=1)
    results[1].image.unlink()
    again, reused = run_trials(trials(), workers=1)
    assert (again, reused) == (results, 5)
    assert all(result.image.exists() for result in again)


def test_a_trial_killed_while_writing_is_repeated(trials, monkeypatch):
    write_files = comparison.write_files

    def killed(contents, **options):
        if len(contents) == 1:  # the first record of a trial
            return write_files(contents, **options)
        write_files(dict(list(contents.items())[:1]), **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "write_files", killed)
    with pytest.raises(KeyboardInterrupt):
        run_trials(trials(), workers=1)
    monkeypatch.undo()
    assert [path.name for path in trials()[0].folder.iterdir() if path.suffix == ".png"] == ["box-2.png"]
    assert run_trials(trials(), workers=1)[1] == 0


@pytest.mark.parametrize("record", [None, "{", "[]", "1", '{"image": 1}'])
def test_a_foreign_file_is_never_overwritten(trials, record):
    theirs = trials()[2].folder / "box-10.png"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"precious")
    if record is not None:
        theirs.with_suffix(".json").write_text(record)
    with pytest.raises(FileError) as caught:
        run_trials(trials(), workers=1)
    assert caught.value.facts["file"] == theirs
    assert theirs.read_bytes() == b"precious"
    assert not trials()[0].record.exists()  # rejected before the first trial


def test_an_input_is_never_overwritten(scenes_dir, average_dir, tmp_path):
    """The folder of results is where the report would write."""
    place = tmp_path / "results" / "mine" / "scenes"
    place.parent.mkdir(parents=True)
    average_dir.rename(place)
    (place / "cup_fused.png").rename(place / "cup.png")
    before = (place / "cup.png").read_bytes()
    groups = find_groups([scenes_dir])
    mine = parse_results([f"mine={place.parent}"], groups)
    with pytest.raises(FileError) as caught:
        run_trials(list_trials(groups, mine, CONDITIONS, tmp_path / "results"), workers=1)
    assert caught.value.facts["file"] == place / "cup.png"
    assert (place / "cup.png").read_bytes() == before


def test_scene_names_ending_in_labels_are_allowed(scenes_dir, tmp_path):
    for path in scenes_dir.glob("cup-*.png"):
        shutil.copy(path, scenes_dir / path.name.replace("cup", "cup-labels"))
    groups = find_groups([scenes_dir])
    results, _ = run_trials(
        list_trials(groups, parse_methods("coupled:stride=4"), CONDITIONS, tmp_path / "results"), workers=1
    )
    paths = [path for result in results for path in (result.image, result.labels)]
    assert len(set(paths)) == 2 * 4
    np.testing.assert_array_equal(read_image(results[2].image), read_image(results[3].image))


def test_a_group_named_labels_inside_another_is_rejected(scenes_dir, tmp_path):
    shutil.copytree(scenes_dir, tmp_path / "labels")
    (tmp_path / "labels").rename(scenes_dir / "labels")
    groups = find_groups([scenes_dir, scenes_dir / "labels"])
    with pytest.raises(FileError) as caught:
        run_trials(list_trials(groups, parse_methods("coupled:stride=4"), CONDITIONS, tmp_path / "results"))
    assert caught.value.facts["file"].name == "box-2.png"


def test_infinite_scores_survive_in_valid_json(trials, average_dir, scenes_dir):
    shutil.copy(scenes_dir / "cup-GT.png", average_dir / "cup_fused.png")
    first, _ = run_trials(trials(), workers=1)
    assert first[5].scores["PSNR"] == np.inf
    assert "Infinity" not in trials()[5].record.read_text()
    assert run_trials(trials(), workers=1) == (first, 6)


def test_jpeg_results_are_scored_after_compression(trials, small_scenes):
    results, _ = run_trials(trials(dataclasses.replace(CONDITIONS, jpeg=60)), workers=1)
    assert results[1].image.suffix == ".jpg"
    *frames, reference = small_scenes["box-2"]
    decoded = decode_jpeg(results[1].image.read_bytes()).image
    assert results[1].scores == score_images(frames, decoded, reference, keys=CONDITIONS.metrics)
    exact, _ = run_trials(trials(), workers=1)
    assert exact[1].scores["QABF"] > results[1].scores["QABF"]


def test_crop_removes_the_border_from_the_scores(small_scenes):
    *frames, reference = small_scenes["cup"]
    damaged = reference.copy()
    damaged[:3], damaged[-3:], damaged[:, :3], damaged[:, -3:] = 0, 0, 0, 0
    assert score_images(frames, damaged, reference, keys=["MSE"])["MSE"] > 100
    assert score_images(frames, damaged, reference, keys=["MSE"], crop=3)["MSE"] == 0
    inner = [image[3:-3, 3:-3] for image in (*frames, damaged)]
    assert score_images(frames, damaged, crop=3) == score_images(inner[:2], inner[2])
    with pytest.raises(InputError) as caught:
        score_images(frames, damaged, crop=17)
    assert caught.value.facts == {"setting": "crop", "got": 17}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_during_the_run_names_the_file_and_keeps_results(trials, scenes_dir, monkeypatch, workers):
    monkeypatch.setattr(comparison, "_check_inputs", lambda *_, **__: None)  # damaged after the check
    path = scenes_dir / "cup-B.png"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileError, match=r"cup-B\.png"):
        run_trials(trials(), workers=workers)
    path.unlink()
    (scenes_dir / "cup-A.png").unlink()
    (scenes_dir / "cup-GT.png").unlink()
    _, reused = run_trials(trials(), workers=1)
    assert reused == 4


def test_a_reference_of_another_size_is_named(trials, scenes_dir):
    write_image(scenes_dir / "cup-GT.png", np.zeros((40, 30, 3), np.uint8), force=True)
    with pytest.raises(FileError) as caught:
        run_trials(trials(), workers=1)
    assert caught.value.facts["file"] == str(scenes_dir / "cup-GT.png")
    assert caught.value.facts["got"] == ((40, 30), "uint8")
