"""Runs from files to files: what they return, and that Python and the command write the same bits."""

import json

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import panfocus as pf
from panfocus.errors import FileError, InputError, UsageError
from panfocus.io.encode import write_image
from panfocus.io.read_stack import read_image
from panfocus.job.request import Outputs, Request
from panfocus.job.runner import run


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Two frames of one scene, 110 x 120, sharp on the left and on the right, shifted by 2 pixels."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(4)
    scene = gaussian_filter(rng.random((110, 130, 3)), (1, 1, 0))
    scene = (scene - scene.min()) / np.ptp(scene)
    for k in range(2):
        view = scene[:, 2 * k : 120 + 2 * k]
        sharp = (np.arange(120) < 60)[:, np.newaxis] == (k == 0)
        frame = np.where(sharp, view, gaussian_filter(view, (2, 2, 0)))
        write_image(folder / f"{k}.png", np.rint(255 * frame).astype(np.uint8))
    return folder


def request_for(photos, output, **options):
    outputs = Outputs(image=output, labels=options.pop("labels", None))
    return Request(inputs=(str(photos),), outputs=outputs, **options)


def test_run_returns_what_it_wrote(photos, tmp_path):
    image, labels = tmp_path / "fused.png", tmp_path / "labels.png"
    done = run(request_for(photos, image, labels=labels))
    assert set(done.files) == {image, labels}
    assert done.shape == (2, 110, 120)
    assert done.warnings == ()
    assert done.report["frames"] == 2
    assert read_image(image).shape == (110, 120, 3)


def test_python_writes_the_same_file_as_a_run(photos, tmp_path):
    """`pf.fuse(pf.read_stack(folder), align="auto")` equals the command bit for bit."""
    done = run(request_for(photos, tmp_path / "run.tif", labels=tmp_path / "labels.png"))
    result = pf.fuse(pf.read_stack(photos), align="auto")
    result.save(tmp_path / "python.tif")
    assert (tmp_path / "python.tif").read_bytes() == (tmp_path / "run.tif").read_bytes()
    np.testing.assert_array_equal(result.labels, read_image(tmp_path / "labels.png"))
    assert result.report["alignment"] == done.report["alignment"]


def test_saving_does_not_overwrite(photos, tmp_path):
    result = pf.fuse(pf.read_stack(photos), "pca")
    result.save(tmp_path / "fused.png")
    with pytest.raises(FileError):
        result.save(tmp_path / "fused.png")
    result.save(tmp_path / "fused.png", force=True)


def test_result_is_shown_by_matplotlib(photos, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    figure = pf.fuse(pf.read_stack(photos)).show()
    assert len(figure.axes) == 5  # the image and four maps


def test_dry_run_writes_nothing(photos, tmp_path):
    done = run(request_for(photos, tmp_path / "fused.png"), dry_run=True)
    assert done.files == ()
    assert done.summary
    assert not list(tmp_path.iterdir())


def test_files_are_complete_before_the_commit(photos, tmp_path):
    image = tmp_path / "fused.png"
    seen = []
    run(request_for(photos, image), before_commit=lambda: seen.append(image.exists()))
    assert seen == [False]
    assert image.exists()


def test_extra_files_are_written_with_the_outputs(photos, tmp_path):
    extra = tmp_path / "extra.txt"
    done = run(request_for(photos, tmp_path / "fused.png"), extra_files=lambda job, fusion: {extra: b"extra"})
    assert extra.read_bytes() == b"extra"
    assert extra in done.files


def test_error_in_progress_cancels_the_run(photos, tmp_path):
    class CancelledError(Exception):
        pass

    def cancel(stage, done):
        if stage == "fuse":
            raise CancelledError

    with pytest.raises(CancelledError):
        run(request_for(photos, tmp_path / "fused.png"), progress=cancel)
    assert not list(tmp_path.iterdir())


def test_report_can_be_repeated(photos, tmp_path):
    from panfocus.job.run_report import repeat_request

    first = Request(
        inputs=(str(photos),),
        outputs=Outputs(image=tmp_path / "fused.png", report=tmp_path / "report.json"),
        settings=("quality=fast",),
        borders="crop",
    )
    run(first)
    report = json.loads((tmp_path / "report.json").read_text())
    assert [entry["kind"] for entry in report["outputs"]] == ["image"]
    before = (tmp_path / "fused.png").read_bytes()
    request, notices = repeat_request(tmp_path / "report.json", Request(inputs=(), outputs=Outputs()))
    assert notices == []
    run(request, force=True)
    assert (tmp_path / "fused.png").read_bytes() == before


def test_skipped_frames_are_warnings_of_the_result_or_notes_of_the_error(photos, tmp_path):
    folder = tmp_path / "bad"
    folder.mkdir()
    for path in photos.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "2.png").write_bytes(b"\x89PNG\r\n\x1a\n damaged")
    done = run(request_for(folder, tmp_path / "fused.png", skip_bad=True))
    assert len(done.warnings) == 1
    assert "2.png" in done.warnings[0]
    (folder / "1.png").unlink()
    with pytest.raises(InputError) as caught:
        run(request_for(folder, tmp_path / "none.png", skip_bad=True))
    assert any("2.png" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ({"slabs": "2:1", "skip_bad": True}, "skip_bad"),
        ({"align": "magic"}, "align"),
        ({"bits": 12}, "bits"),
        ({"settings": ("quality",)}, "settings"),
        ({"refine_strength": -1.0}, "refine_strength"),
        ({"reference": "missing.png"}, "reference"),
        ({"channel": 1}, "channel"),
    ],
    ids=str,
)
def test_wrong_options_are_usage_errors_that_name_the_setting(photos, tmp_path, options, setting):
    with pytest.raises(UsageError) as caught:
        run(request_for(photos, tmp_path / "fused.png", **options))
    assert caught.value.facts["setting"] == setting


@pytest.mark.parametrize("selection", [{"channel": 9}, {"time": 1}, {"channel": 0}])
def test_read_stack_refuses_channels_and_times_that_photographs_lack(photos, selection):
    with pytest.raises(InputError) as caught:
        pf.read_stack(photos, **selection)
    assert caught.value.facts["setting"] in selection
