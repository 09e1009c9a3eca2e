"""Kernels are compiled once and cached; a notice says so when that takes noticeable time."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import panfocus

SETUP = """
import logging
logging.basicConfig(level="INFO")
logging.getLogger("numba").setLevel("ERROR")
import numpy as np
from panfocus import _numba
from panfocus.decide.patches import centred_patches

def gather():  # the energy of a patch: 8 - 64 (1/8)^2 = 7
    print(centred_patches(np.eye(8, dtype="f4"), np.array([0]), np.array([0]), 8)[1])
"""
NOTICE = "INFO:panfocus._numba:"


def run_program(program, **environment):
    """Run a program in a new process without a cache of compiled code, except as set in the environment."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    return subprocess.run(
        [sys.executable, "-c", SETUP + program],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_read_only_install_without_cache_folder_compiles_in_every_run(tmp_path):
    package = tmp_path / "panfocus"
    shutil.copytree(
        Path(panfocus.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "data")
    )
    # A file instead of numba's folder stops root too, unlike permissions.
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("")
    done = run_program(
        "_numba.NOTICEABLE = 0.0; gather(); print(_numba._announcement.is_cached)",
        PYTHONPATH=str(tmp_path),
        HOME="/dev/null",
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert (done.returncode, done.stdout) == (0, "[7.]\nFalse\n"), done.stderr
    assert done.stderr.count(NOTICE) == 1


def test_notice_appears_once_and_only_if_code_is_compiled(tmp_path):
    program = "_numba.NOTICEABLE = 0.0; gather()"
    first, second = (run_program(program, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout == second.stdout == "[7.]\n", first.stderr + second.stderr
    assert first.stderr.count(NOTICE) == 1
    assert second.stderr == ""


def test_short_compilation_gives_no_notice(tmp_path):
    done = run_program("_numba.NOTICEABLE = 1e9; gather()", NUMBA_CACHE_DIR=str(tmp_path))
    assert (done.stdout, done.stderr) == ("[7.]\n", "")


def test_watcher_is_called_when_compiling_starts_and_ends(tmp_path):
    program = """
events = [_numba.is_any_cached("decide")]
with _numba.watch_compiling(events.append):
    gather()
print(*events, _numba.is_any_cached("decide"), _numba.is_any_cached("sparse"))
"""
    first, second = (run_program(program, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout.splitlines() == ["[7.]", "False True False True False"], first.stderr
    assert second.stdout.splitlines() == ["[7.]", "True True False"], second.stderr


ALIGN_FUSE_LEARN = """
import hashlib
from importlib.resources import as_file, files
import panfocus as pf
from panfocus.io.read_stack import read_stack
with as_file(files("panfocus") / "data" / "sample") as folder:
    frames = np.stack(read_stack(sorted(folder.glob("*.jpg"))).frames)
found = pf.align(frames)
fused = pf.fuse(found.frames)
coupled = pf.fuse(found.frames[:, :96, :96], method="coupled")
blurred, sharp = frames[:2, :128, :128, 1] / 255.0
learned = pf.CoupledDictionary.learn([sharp], [blurred], n_atoms=32, rounds=2, n_samples=999)
maps = fused.confidence, fused.depth
made = found.transforms, found.frames, fused.image, *maps, coupled.image, learned.levels
print(*(hashlib.sha256(np.ascontiguousarray(each)).hexdigest()[:8] for each in made))
"""


def test_compiled_and_cached_code_give_the_same_bits(tmp_path):
    """numba may store a function twice, alone and inside its caller, optimised differently."""
    first, second = (run_program(ALIGN_FUSE_LEARN, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert len(first.stdout.split()) == 7
    assert first.stdout == second.stdout
