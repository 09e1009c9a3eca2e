"""Kernels are compiled once and cached; a notice says so when that takes noticeable time."""

import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import panfocus
from panfocus import _numba

PACKAGE = Path(panfocus.__file__).parent

# One small kernel, because it is compiled several times.
SETUP = """
import logging
logging.basicConfig(level="INFO")
logging.getLogger("numba").setLevel("ERROR")
import numpy as np
from panfocus import _numba
from panfocus.decide.gray import to_gray
_numba.NOTICEABLE = 0.0

def weigh():
    print(to_gray(np.zeros((1, 1, 3), np.uint8)))
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
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "data"))
    # A file instead of numba's folder stops root too, unlike permissions.
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("")
    done = run_program(
        "weigh(); print(_numba._announcement.is_cached)",
        PYTHONPATH=str(tmp_path),
        HOME="/dev/null",
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert (done.returncode, done.stdout) == (0, "[[0.]]\nFalse\n"), done.stderr
    assert done.stderr.count(NOTICE) == 1


def test_compiling_is_announced_and_watched_in_the_first_run_only(tmp_path):
    program = """
events = [_numba.is_any_cached("decide")]
with _numba.watch_compiling(events.append):
    weigh()
print(*events, _numba.is_any_cached("decide"), _numba.is_any_cached("sparse"))
"""
    first, second = (run_program(program, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout.splitlines() == ["[[0.]]", "False True False True False"], first.stderr
    assert first.stderr.count(NOTICE) == 1
    assert (second.stdout.splitlines(), second.stderr) == (["[[0.]]", "True True False"], "")


def test_only_noticeable_compilation_is_announced(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "panfocus._numba")
    for noticeable, n_notices in ((1e9, 0), (0.0, 1)):
        monkeypatch.setattr(_numba, "NOTICEABLE", noticeable)
        announcement = _numba._Announcement()
        for is_start in (True, True, False, False, True, False):
            announcement.notify(SimpleNamespace(is_start=is_start))
        assert len(caplog.records) == n_notices


# Kernels that call kernels, with each set of options: filters, the re-blur test, sparse coding and learning.
FILTER_AND_LEARN = """
import hashlib
from panfocus import CoupledDictionary
from panfocus._filters import filtered, gaussian
from panfocus.decide._kernel_reblur import keep_best
rng = np.random.default_rng(0)
error = np.empty((40, 50), np.float32)
attempts, glow = rng.random((4, 3, 40, 50), np.float32), rng.random((4, 40, 50), np.float32) - np.float32(0.5)
keep_best(attempts, glow, rng.random((3, 40, 50), np.float32), error)
learned = CoupledDictionary.learn(*rng.random((2, 1, 40, 50)), n_atoms=32, rounds=2, n_samples=999)
made = error, filtered(error, gaussian(5.0)), learned.levels
print(*(hashlib.sha256(np.ascontiguousarray(each)).hexdigest()[:8] for each in made))
"""


def test_compiled_and_cached_code_give_the_same_bits(tmp_path):
    """numba may store a function twice, alone and inside its caller, optimised differently."""
    first, second = (run_program(FILTER_AND_LEARN, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert NOTICE in first.stderr
    assert NOTICE not in second.stderr
    assert len(first.stdout.split()) == 3
    assert first.stdout == second.stdout


def test_every_kernel_is_compiled_with_the_options_that_fix_its_bits():
    direct = re.compile(r"\b(njit|vectorize|guvectorize|numba\.jit)\b")
    sources = {path.name for path in PACKAGE.rglob("*.py") if direct.search(path.read_text("utf-8"))}
    assert sources == {"_numba.py"}
