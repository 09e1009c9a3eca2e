"""Kernels are compiled once, with a word about it; where nothing can be kept, in every run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import panfocus


def test_a_read_only_install_without_a_cache_folder_compiles_in_every_run(tmp_path):
    package = tmp_path / "panfocus"
    shutil.copytree(
        Path(panfocus.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "data")
    )
    # A file stands where numba would make its folder: that stops root too, whom permissions do not.
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("")
    done = _gather(PYTHONPATH=str(tmp_path), HOME="/dev/null", PYTHONDONTWRITEBYTECODE="1")
    assert (done.returncode, done.stdout) == (0, "[7.]\n"), done.stderr
    (said,) = done.stderr.splitlines()
    assert said.endswith("compiling for this machine, which may take half a minute; "
                         "no folder can be written to keep the code in")  # fmt: skip


def test_compiling_is_announced_once_and_not_when_the_code_is_found(tmp_path):
    first, second = (_gather(NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout == second.stdout == "[7.]\n", first.stderr + second.stderr
    (said,) = first.stderr.splitlines()  # of two functions
    assert said.endswith("compiling for this machine, which may take half a minute; later runs find it done")
    assert second.stderr == ""


def test_who_watches_is_told_of_the_begin_and_end_of_compiling_and_whether_code_is_kept(tmp_path):
    first, second = (
        _gather(
            "from panfocus._numba import any_kept, compiling_watched; told = [any_kept('patches')]\n"
            "with compiling_watched(told.append): {gather}\n"
            "print(*told, any_kept('patches'), any_kept('sparse'))",
            NUMBA_CACHE_DIR=str(tmp_path),
        )
        for _ in range(2)
    )
    assert first.stdout.splitlines() == ["[7.]", "False True False True False"], first.stderr
    assert second.stdout.splitlines() == ["[7.]", "True True False"], second.stderr


ALIGN_FUSE_LEARN = """
import hashlib
from importlib.resources import as_file, files
import numpy as np
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
"""  # fmt: skip


def test_a_run_that_compiles_gives_the_bits_of_those_that_find_the_code(tmp_path):
    """numba may keep a function twice, by itself and inside its caller, optimised differently."""
    first, second = (_run(ALIGN_FUSE_LEARN, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert len(first.stdout.split()) == 7
    assert first.stdout == second.stdout


def _gather(run="{gather}", **environment):
    """Gather a patch, the unit matrix, of energy 8 - 64 (1/8)^2 = 7, in a process that shows the log."""
    gather = "print(c(np.eye(8, dtype='f4'), np.array([0]), np.array([0]), 8)[1])"
    run = (
        "import logging; logging.basicConfig(level='INFO'); logging.getLogger('numba').setLevel('ERROR')\n"
        "import numpy as np; from panfocus.decide.patches import centred_patches as c\n"
        + run.replace("{gather}", gather)
    )
    return _run(run, **environment)


def _run(program, **environment):
    """Run a program in a process of its own, with no cache of code but what the environment names."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )
