"""Two small frames, a dictionary, and the command: in this process, and in one of its own."""

import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from panfocus.cli import main
from panfocus.dictionary import CoupledDictionary, overcomplete_dct
from panfocus.io.write import write_image

Ran = namedtuple("Ran", "code out err")


@pytest.fixture(scope="session")
def dictionary_file(tmp_path_factory):
    focused = overcomplete_dct(8, 64)
    blurred = np.stack([gaussian_filter(atom.reshape(8, 8), 1).ravel() for atom in focused.T], axis=1)
    levels = np.stack([focused, blurred]).astype(np.float32)
    levels /= np.linalg.norm(levels, axis=1, keepdims=True)
    path = tmp_path_factory.mktemp("dictionary") / "dct.npz"
    CoupledDictionary(levels, origin="cosines, smoothed").save(path)
    return path


@pytest.fixture(scope="session")
def scene():
    """Colour frames (2, 40, 33, 3): the first sharp on the left, the second on the right."""
    rng = np.random.default_rng(7)
    sharp = gaussian_filter(rng.random((40, 33, 3)), (0.6, 0.6, 0))
    soft = gaussian_filter(sharp, (2, 2, 0))
    frames = np.stack([sharp, soft])
    frames[:, :, 16:] = frames[::-1, :, 16:].copy()
    return np.rint(255 * frames).astype(np.uint8)


@pytest.fixture
def folder(tmp_path, scene, monkeypatch):
    """A folder with the two frames, which is the current one."""
    for name, frame in zip(("a.png", "b.png"), scene, strict=True):
        write_image(tmp_path / name, frame)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch, capfd):
    """Run the command line in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["panfocus", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capfd.readouterr()
        return Ran(exit_.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def command():
    """Start the installed command in a process of its own."""

    def command(*arguments, **options):
        return subprocess.Popen(
            [sys.executable, "-c", "from panfocus.cli import main; main()", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            # No bytecode: under a limit on files Python keeps half of it, and later imports fail.
            env=os.environ | {"PYTHONWARNINGS": "default", "PYTHONDONTWRITEBYTECODE": "1"}, **options,
        )  # fmt: skip

    return command
