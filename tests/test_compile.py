"""Kernels compile also where nothing can be kept: in a read-only folder, without a home."""

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
    run = (
        "import numpy as np; from panfocus.patches import centred_patches as c; "
        "print(c(np.eye(8, dtype='f4'), np.array([0]), np.array([0]), 8)[1])"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    environment |= {"PYTHONPATH": str(tmp_path), "HOME": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", run], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[7.]\n"), done.stderr
