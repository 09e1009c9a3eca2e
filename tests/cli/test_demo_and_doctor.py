import re
import tomllib
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

from cli_errors import assert_error_line

from panfocus.cli import doctor

PROJECT = Path(__file__).resolve().parents[2]


def test_demo_gives_the_result_of_fuse_and_can_be_repeated(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options in ([], ["--force"]):
        ran = run("demo", *options)
        assert (ran.code, ran.err) == (0, "")
        for name in ("fused.png", "depth.png"):
            assert f": {tmp_path / 'panfocus-demo' / name}\n" in ran.out
    run("fuse", files("panfocus") / "data" / "sample", "-o", "again.png", "--depth-colour", "depth.png")
    for name, again in (("fused.png", "again.png"), ("depth.png", "depth.png")):
        assert (tmp_path / "panfocus-demo" / name).read_bytes() == (tmp_path / again).read_bytes()


def test_demo_overwrites_nothing_and_leaves_no_empty_folder(tmp_path, run, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "depth.png").write_bytes(b"precious")
    ran = run("demo", "-o", tmp_path / "full")
    assert ran.code == 1
    assert_error_line(ran.err, tmp_path / "full" / "depth.png")
    assert (tmp_path / "full" / "depth.png").read_bytes() == b"precious"

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("panfocus.job.runner.read_frames", interrupt)
    assert run("demo", "-o", tmp_path / "new").code == 130
    assert not (tmp_path / "new").exists()


def test_demo_rejects_an_impossible_folder(tmp_path, run):
    (tmp_path / "file").touch()
    ran = run("demo", "-o", tmp_path / "file" / "folder", "--quiet")
    assert (ran.code, ran.out) == (1, "")
    assert_error_line(ran.err, tmp_path / "file" / "folder")


def test_doctor_lists_versions_machine_dictionary_and_speed(run):
    ran = run("doctor")
    assert (ran.code, ran.err) == (0, "")
    for label in ("numba", "imagecodecs", "cores:", "compiled code:", "default dictionary:", "speed:"):
        assert f"\n{label}" in ran.out


def test_doctor_reports_a_missing_cache_folder(run, monkeypatch):
    nowhere = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    monkeypatch.setattr("panfocus.sparse._kernel_numba.sum_norms", nowhere)
    ran = run("doctor")
    assert ran.code == 0
    assert "NUMBA_CACHE_DIR" in ran.out


def test_doctor_knows_the_packages_of_the_project():
    """As in pyproject.toml; other extras are for developers."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]

    def names(needs):
        return sorted(re.match(r"[\w.-]+", need)[0].lower() for need in needs)  # as installers do

    assert doctor._required() == names(project["dependencies"])
    extras = {extra: names(needs) for extra, needs in project["optional-dependencies"].items()}
    assert doctor.EXTRAS.keys() == extras.keys() - {"test", "lint", "bench"}
    assert {extra: doctor._required(extra) for extra in doctor.EXTRAS} == {
        extra: extras[extra] for extra in doctor.EXTRAS
    }


def test_doctor_reports_missing_packages(run, monkeypatch):
    there = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda package: package != "zarr" and there(package))
    ran = run("doctor")
    assert (ran.code, ran.err) == (0, "")
    lines = {line.split()[1]: line for line in ran.out.splitlines() if line.startswith("extra ")}
    assert lines["raw"].endswith("installed")
    assert lines["ome"].endswith("zarr: pip install 'panfocus[ome]'")
    monkeypatch.setattr(doctor, "_version", lambda package: package != "pywavelets" and there(package))
    ran = run("doctor")
    assert ran.code == 1
    assert_error_line(ran.err, "pywavelets")
