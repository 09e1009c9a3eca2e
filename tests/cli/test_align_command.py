"""`panfocus align`, and frames that `panfocus fuse` has to align."""

import json

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus.io.read import read_image
from panfocus.io.write import write_image


@pytest.fixture
def shifted(tmp_path, monkeypatch):
    """Two 16-bit frames of a texture; what is at x in the first is at x - 7, y + 4 in the second."""
    texture = gaussian_filter(np.random.default_rng(5).random((200, 240)), 1.5)
    texture = np.rint(65535 * (texture - texture.min()) / np.ptp(texture)).astype(np.uint16)
    write_image(tmp_path / "a.tif", texture[20:170, 20:200])
    write_image(tmp_path / "b.tif", texture[16:166, 27:207])
    write_image(tmp_path / "c.tif", texture[:150, :180][::-1, ::-1])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_aligned_frames_are_written_under_their_names_with_a_report(shifted, run):
    ran = run("align", "a.tif", "b.tif", "-o", "out")
    assert (ran.code, ran.err) == (0, "")
    assert "aligned by shift to frame 0" in ran.out
    report = json.loads((shifted / "out" / "alignment.json").read_text())
    np.testing.assert_allclose(report["transforms"][1], [[1, 0, -7], [0, 1, 4], [0, 0, 1]], atol=0.05)
    one, other = read_image("out/a.tif"), read_image("out/b.tif")
    assert one.dtype == np.uint16
    # By whole pixels, to within a twentieth of one: nearly the same values, where both have some.
    assert one.shape == other.shape
    assert np.abs(one.astype(int) - other).mean() < 300
    again = run("align", "a.tif", "b.tif", "-o", "out")
    assert again.code == 1
    assert "exists already" in again.err


def test_fuse_aligns_and_reports_it(shifted, run):
    ran = run("fuse", "a.tif", "b.tif", "-o", "fused.tif", "--report", "report.json", "--reference", "b.tif")
    assert (ran.code, ran.err) == (0, "")
    assert "aligned by shift to frame 1" in ran.out
    report = json.loads((shifted / "report.json").read_text())
    assert "alignment" in json.dumps(report)
    assert read_image("fused.tif").shape[0] < 150


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [("align", "out", "cannot align c.tif (score "), ("fuse", "fused.tif", "c.tif shows another scene")],
)
def test_a_frame_of_something_else_is_named(shifted, run, command, output, said):
    ran = run(command, "a.tif", "b.tif", "c.tif", "-o", output)
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert said in ran.err
    assert "leave it out" in ran.err
    assert not (shifted / output).exists()


def test_pages_of_one_file_get_files_of_their_own(shifted, run):
    import tifffile

    pages = np.stack([read_image("a.tif"), read_image("b.tif")])
    tifffile.imwrite("stack.tif", pages, photometric="minisblack")
    assert run("align", "stack.tif", "-o", "out").code == 0
    assert sorted(path.name for path in (shifted / "out").iterdir()) == [
        "alignment.json",
        "stack-page0001.tif",
        "stack-page0002.tif",
    ]
