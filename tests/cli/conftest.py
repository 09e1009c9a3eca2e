"""Two small frames, a stack of five in two lights, a dictionary, and commands that must fail."""

from pathlib import Path

import numpy as np
import pytest
from cli_errors import assert_error_line
from scipy.ndimage import gaussian_filter

from panfocus.dictionary import CoupledDictionary, overcomplete_dct
from panfocus.io.encode import write_image


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


@pytest.fixture(scope="session")
def stack():
    """Five colour frames (5, 60, 100, 3); a fifth of the width is sharp in each, from left to right."""
    rng = np.random.default_rng(3)
    sharp = gaussian_filter(rng.random((60, 100, 3)), (0.6, 0.6, 0))
    blurred = np.array([gaussian_filter(sharp, (s, s, 0)) if s else sharp for s in range(5)])
    columns = np.arange(100)
    frames = [blurred[np.abs(columns // 20 - k), :, columns].swapaxes(0, 1) for k in range(5)]
    return np.rint(255 * np.array(frames)).astype(np.uint8)


@pytest.fixture
def lights(tmp_path, stack, monkeypatch):
    """Folders `white`, the frames, and `red`, 16 bits of grey that are made of them, in the current one."""
    for name, frames in (("white", stack), ("red", stack[..., 0].astype(np.uint16) * 200)):
        (tmp_path / name).mkdir()
        for k, frame in enumerate(frames):
            write_image(tmp_path / name / f"z{k}.png", frame)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fails(run):
    """Run a command that must fail with one line on stderr and leave the current folder unchanged."""

    def fails(*arguments, code=1, names=()):
        before = sorted(Path().rglob("*"))
        ran = run(*arguments)
        assert ran.code == code, ran
        assert_error_line(ran.err, *names)
        assert sorted(Path().rglob("*")) == before
        return ran

    return fails
