import re
import tomllib
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

from panfocus.cli import doctor

PROJECT = Path(__file__).resolve().parents[2]


def test_the_demo_does_what_fuse_does_says_where_the_pictures_are_and_may_be_run_again(
    tmp_path, run, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        ran = run("demo")
        assert (ran.code, ran.err) == (0, "")
        for name in ("fused.png", "depth.png"):
            assert f": {tmp_path / 'panfocus-demo' / name}\n" in ran.out
    run("fuse", files("panfocus") / "data" / "sample", "-o", "again.png", "--depth-colour", "depth.png")
    for name, again in (("fused.png", "again.png"), ("depth.png", "depth.png")):
        assert (tmp_path / "panfocus-demo" / name).read_bytes() == (tmp_path / again).read_bytes()


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


def test_doctor_names_what_is_needed_and_what_each_extra_brings():
    """As the project's file has it; other extras are for developers."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]

    def names(needs):
        return sorted(re.match(r"[\w.-]+", need)[0].lower() for need in needs)  # as installers do

    assert doctor._required() == names(project["dependencies"])
    extras = {extra: names(needs) for extra, needs in project["optional-dependencies"].items()}
    assert doctor.EXTRAS.keys() == extras.keys() - {"test", "lint", "bench"}
    assert {extra: doctor._required(extra) for extra in doctor.EXTRAS} == {
        extra: extras[extra] for extra in doctor.EXTRAS
    }


def test_doctor_says_what_is_missing(run, monkeypatch):
    there = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda package: package != "zarr" and there(package))
    ran = run("doctor")
    assert (ran.code, ran.err) == (0, "")
    assert "\nextra raw (RAW files): installed\n" in ran.out
    assert "\nextra ome (OME-Zarr): without zarr: pip install 'panfocus[ome]'\n" in ran.out
    monkeypatch.setattr(doctor, "_version", lambda package: package != "pywavelets" and there(package))
    ran = run("doctor")
    assert ran.code == 1
    assert ran.err == "panfocus: missing: pywavelets; install panfocus again\n"
