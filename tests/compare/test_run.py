import dataclasses
import shutil

import numpy as np
import pytest

from panfocus.compare import Conditions, comparison, find_groups, parse_methods, parse_results, plan, run_jobs
from panfocus.compare.scoring import score_pictures
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
def jobs(scenes_dir, average_dir, tmp_path):
    """Return the plan of a comparison of one fast method with averaging, under some conditions."""

    def jobs(conditions=CONDITIONS, methods="coupled:stride=4"):
        groups = find_groups([scenes_dir])
        entries = [*parse_methods(methods), *parse_results([f"average={average_dir}"], groups)]
        return plan(groups, entries, conditions, tmp_path / "results")

    return jobs


def kept(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_pictures_labels_and_scores_are_those_of_the_library(jobs, small_scenes, tmp_path):
    outcomes, reused = run_jobs(jobs(), workers=1)
    assert reused == 0
    *frames, reference = small_scenes["box-2"]
    expected = fuse(frames, "coupled", stride=4)
    np.testing.assert_array_equal(read_image(outcomes[0].image), expected.image)
    np.testing.assert_array_equal(read_image(outcomes[0].labels), expected.labels)
    assert outcomes[1].labels is None
    planes = [matlab_gray(image) for image in (*frames, expected.image, reference)]
    assert outcomes[0].scores == score(planes[:2], planes[2], reference=planes[3], keys=CONDITIONS.metrics)
    files = {f"{name}{end}" for name in small_scenes for end in (".png", ".json")}
    labels = {f"labels/{name}.png" for name in small_scenes}
    assert kept(tmp_path / "results/average") == {f"scenes/{name}" for name in files}
    assert kept(tmp_path / "results/coupled_stride=4") == {f"scenes/{name}" for name in files | labels}


def test_processes_give_the_same_in_the_same_order(jobs, tmp_path):
    parallel, _ = run_jobs(jobs(), workers=2)
    pictures = [outcome.image.read_bytes() for outcome in parallel]
    shutil.rmtree(tmp_path / "results")
    alone, reused = run_jobs(jobs(), workers=1)
    assert reused == 0
    assert alone == parallel
    assert [outcome.image.read_bytes() for outcome in alone] == pictures


def test_progress_ends_at_one(jobs):
    calls = []
    run_jobs(jobs(), workers=1, progress=lambda stage, done: calls.append((stage, done)))
    assert calls[:3] == [("check", i / 3) for i in (1, 2, 3)]
    assert calls[3:] == [("compare", i / 6) for i in range(7)]


def test_a_second_run_makes_nothing(jobs, monkeypatch):
    first, _ = run_jobs(jobs(), workers=1)
    monkeypatch.delattr(comparison, "_make")
    assert run_jobs(jobs(), workers=1) == (first, 6)


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
    ("change", "made_anew"),
    [(altered_source, 2), (altered_reference, 2), (no_reference, 2), (altered_result, 1)],
)
def test_what_depends_on_a_changed_file_is_made_anew(jobs, scenes_dir, average_dir, change, made_anew):
    run_jobs(jobs(), workers=1)
    change(scenes_dir, average_dir)
    _, reused = run_jobs(jobs(), workers=1)
    assert reused == 6 - made_anew


@pytest.mark.parametrize(
    "change", [{"crop": 1}, {"jpeg": 90}, {"metrics": ("NMI",)}], ids=["crop", "jpeg", "metrics"]
)
def test_other_conditions_make_everything_anew(jobs, change):
    run_jobs(jobs(), workers=1)
    _, reused = run_jobs(jobs(dataclasses.replace(CONDITIONS, **change)), workers=1)
    assert reused == 0


def test_a_setting_at_its_default_is_the_same_and_another_is_not(jobs):
    run_jobs(jobs(), workers=1)
    (same, *_), (other, *_) = (
        jobs(methods=text) for text in ("coupled:stride=4:w=0.55", "coupled:stride=4:w=0.6")
    )
    original = jobs()[0]
    assert comparison._fingerprint(same, digest) == comparison._fingerprint(original, digest)
    assert comparison._fingerprint(other, digest) != comparison._fingerprint(original, digest)


def test_other_atoms_in_a_dictionary_of_the_same_name_make_its_results_anew(jobs, tmp_path):
    levels = CoupledDictionary.default().levels[:, :, :70]
    CoupledDictionary(levels).save(tmp_path / "mine.npz")
    methods = f"sr-ksvd:stride=4:dictionary={tmp_path / 'mine.npz'}"
    first, _ = run_jobs(jobs(methods=methods), workers=2)
    assert run_jobs(jobs(methods=methods), workers=2) == (first, 6)
    CoupledDictionary(levels[:, :, ::-1]).save(tmp_path / "mine.npz", force=True)
    assert run_jobs(jobs(methods=methods), workers=1)[1] == 3


def test_another_panfocus_makes_everything_anew(jobs, monkeypatch):
    run_jobs(jobs(), workers=1)
    monkeypatch.setattr(comparison, "_code_digest", lambda: "changed")
    assert run_jobs(jobs(), workers=1)[1] == 0


def test_a_lost_picture_is_made_anew(jobs):
    outcomes, _ = run_jobs(jobs(), workers=1)
    outcomes[1].image.unlink()
    again, reused = run_jobs(jobs(), workers=1)
    assert (again, reused) == (outcomes, 5)
    assert all(outcome.image.exists() for outcome in again)


def test_killed_between_its_files_a_job_is_made_anew(jobs, monkeypatch):
    write_files = comparison.write_files

    def killed(contents, **options):
        if len(contents) == 1:  # the record that a job begins with
            return write_files(contents, **options)
        write_files(dict(list(contents.items())[:1]), **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "write_files", killed)
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs(), workers=1)
    monkeypatch.undo()
    assert [path.name for path in jobs()[0].folder.iterdir() if path.suffix == ".png"] == ["box-2.png"]
    assert run_jobs(jobs(), workers=1)[1] == 0


@pytest.mark.parametrize("record", [None, "", "{", "[]", "{}", "1", '{"image": 1}'])
def test_a_picture_without_a_record_of_ours_is_never_written_over(jobs, record):
    theirs = jobs()[2].folder / "box-10.png"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"precious")
    if record is not None:
        theirs.with_suffix(".json").write_text(record)
    with pytest.raises(FileError, match=r"coupled_stride=4/scenes/box-10\.png is in the way"):
        run_jobs(jobs(), workers=1)
    assert theirs.read_bytes() == b"precious"
    assert not jobs()[0].record.exists()  # refused before any work


def test_an_input_is_never_written_over(scenes_dir, average_dir, tmp_path):
    """A folder of results that lies where the report would put its own."""
    place = tmp_path / "results" / "mine" / "scenes"
    place.parent.mkdir(parents=True)
    average_dir.rename(place)
    (place / "cup_fused.png").rename(place / "cup.png")
    before = (place / "cup.png").read_bytes()
    groups = find_groups([scenes_dir])
    mine = parse_results([f"mine={place.parent}"], groups)
    with pytest.raises(FileError, match=r"mine/scenes/cup\.png is one of the inputs"):
        run_jobs(plan(groups, mine, CONDITIONS, tmp_path / "results"), workers=1)
    assert (place / "cup.png").read_bytes() == before


def test_scenes_that_end_in_labels_keep_their_pictures(scenes_dir, tmp_path):
    for path in scenes_dir.glob("cup-*.png"):
        shutil.copy(path, scenes_dir / path.name.replace("cup", "cup-labels"))
    groups = find_groups([scenes_dir])
    outcomes, _ = run_jobs(plan(groups, parse_methods("coupled:stride=4"), CONDITIONS, tmp_path / "results"))
    paths = [path for outcome in outcomes for path in (outcome.image, outcome.labels)]
    assert len(set(paths)) == 2 * 4
    np.testing.assert_array_equal(read_image(outcomes[2].image), read_image(outcomes[3].image))


def test_a_group_called_labels_within_another_is_refused(scenes_dir, tmp_path):
    shutil.copytree(scenes_dir, tmp_path / "labels")
    (tmp_path / "labels").rename(scenes_dir / "labels")
    groups = find_groups([scenes_dir, scenes_dir / "labels"])
    with pytest.raises(FileError, match=r"scenes/labels/box-2\.png would be written twice"):
        run_jobs(plan(groups, parse_methods("coupled:stride=4"), CONDITIONS, tmp_path / "results"))


def test_an_infinite_score_is_kept_in_a_record_that_is_json(jobs, average_dir, scenes_dir):
    shutil.copy(scenes_dir / "cup-GT.png", average_dir / "cup_fused.png")
    first, _ = run_jobs(jobs(), workers=1)
    assert first[5].scores["PSNR"] == np.inf
    assert "Infinity" not in jobs()[5].record.read_text()
    assert run_jobs(jobs(), workers=1) == (first, 6)


def test_results_are_scored_as_the_jpeg_that_is_kept(jobs, small_scenes):
    outcomes, _ = run_jobs(jobs(dataclasses.replace(CONDITIONS, jpeg=60)), workers=1)
    assert outcomes[1].image.suffix == ".jpg"
    *frames, reference = small_scenes["box-2"]
    decoded = decode_jpeg(outcomes[1].image.read_bytes()).image
    assert outcomes[1].scores == score_pictures(frames, decoded, reference, keys=CONDITIONS.metrics)
    exact, _ = run_jobs(jobs(), workers=1)
    assert exact[1].scores["QABF"] > outcomes[1].scores["QABF"]


def test_crop_leaves_the_border_out_of_the_scores(small_scenes):
    *frames, reference = small_scenes["cup"]
    spoilt = reference.copy()
    spoilt[:3], spoilt[-3:], spoilt[:, :3], spoilt[:, -3:] = 0, 0, 0, 0
    assert score_pictures(frames, spoilt, reference, keys=["MSE"])["MSE"] > 100
    assert score_pictures(frames, spoilt, reference, keys=["MSE"], crop=3)["MSE"] == 0
    inner = [image[3:-3, 3:-3] for image in (*frames, spoilt)]
    assert score_pictures(frames, spoilt, crop=3) == score_pictures(inner[:2], inner[2])
    with pytest.raises(InputError, match="crop of 17 pixels on every side leaves nothing of 33 x 40"):
        score_pictures(frames, spoilt, crop=17)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_half_way_names_the_file_and_what_was_made_stays(jobs, scenes_dir, monkeypatch, workers):
    monkeypatch.setattr(comparison, "check_inputs", lambda *_, **__: None)  # sound then, damaged since
    path = scenes_dir / "cup-B.png"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FileError, match=r"cup-B\.png: cut off"):
        run_jobs(jobs(), workers=workers)
    path.unlink()
    (scenes_dir / "cup-A.png").unlink()
    (scenes_dir / "cup-GT.png").unlink()
    _, reused = run_jobs(jobs(), workers=1)
    assert reused == 4


def test_a_reference_of_another_size_is_named(jobs, scenes_dir):
    write_image(scenes_dir / "cup-GT.png", np.zeros((40, 30, 3), np.uint8), force=True)
    with pytest.raises(FileError, match=r"cup-GT\.png is 30 x 40 .*cup-A\.png is 33 x 40"):
        run_jobs(jobs(), workers=1)
