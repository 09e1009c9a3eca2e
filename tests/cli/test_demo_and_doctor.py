from types import SimpleNamespace

from panfocus.io.read import read_image


def test_the_demo_says_where_the_picture_is_and_may_be_run_again(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        ran = run("demo")
        assert (ran.code, ran.err) == (0, "")
        assert str(tmp_path / "panfocus-demo" / "fused.png") in ran.out
    fused, labels = (read_image(tmp_path / "panfocus-demo" / name) for name in ("fused.png", "labels.png"))
    assert fused.shape[:2] == labels.shape
    assert {0, 255} <= set(labels.flat)


def test_the_demo_refuses_a_folder_that_cannot_be_made(tmp_path, run):
    (tmp_path / "file").touch()
    ran = run("demo", "-o", tmp_path / "file" / "folder", "--quiet")
    assert (ran.code, ran.out) == (1, "")
    assert "cannot make this folder" in ran.err


def test_doctor_reports_versions_machine_dictionary_and_speed(run):
    ran = run("doctor")
    assert (ran.code, ran.err) == (0, "")
    for words in ("numba", "imagecodecs", "cores:", "compiled code:", "default dictionary:", "patches coded"):
        assert words in ran.out


def test_doctor_says_that_compiled_code_cannot_be_kept(run, monkeypatch):
    nowhere = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    monkeypatch.setattr("panfocus.sparse._kernel_numba.summarise_block", nowhere)
    ran = run("doctor")
    assert ran.code == 0
    assert "compiled code: cannot be kept, every run compiles anew; set NUMBA_CACHE_DIR" in ran.out


def test_doctor_says_what_is_missing(run, monkeypatch):
    monkeypatch.setattr("panfocus.cli.doctor.PACKAGES", ("numpy", "no-such-package"))
    ran = run("doctor")
    assert ran.code == 1
    assert ran.err == "panfocus: missing: no-such-package; install panfocus again\n"
