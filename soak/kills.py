"""Runs of the command, killed at random moments: never a half file, never a lost original.

Half of the kills come at any moment of the run, the others while files are being written, which is short and
where harm could be done.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter

from panfocus.io.encode import write_image

OUTPUTS = ("fused.tif", "labels.png", "report.json")
OLD = b"what was there before"
TEMPORARY = ".panfocus-"  # what the name of a file that is being written begins with


@dataclass
class Outcome:
    """What became of some runs."""

    killed: int = 0
    writing: int = 0  # of those, while a temporary file was there
    too_late: int = 0  # ended before
    left_behind: int = 0  # temporary files, by their names
    failures: list[str] = field(default_factory=list)


class Scene:
    """A folder of frames, one to write into, one for scratch files, and what a run is to give."""

    def __init__(self, folder: Path, size: int = 700) -> None:
        self.frames, self.output, self.scratch = (folder / name for name in ("frames", "output", "scratch"))
        for new in (self.frames, self.output, self.scratch):
            new.mkdir()
        sharp = gaussian_filter(np.random.default_rng(0).random((size, size, 3)), (0.7, 0.7, 0))
        for k in range(3):
            frame = gaussian_filter(sharp, (2, 2, 0))
            part = slice(k * size // 3, (k + 1) * size // 3)
            frame[:, part] = sharp[:, part]
            write_image(self.frames / f"frame-{k}.tif", np.rint(65535 * frame).astype(np.uint16))
        self.originals = _digests(self.frames)
        self.put_old_files()
        self.finish(self.start())  # which compiles, where that was not done before
        began = time.monotonic()
        self.put_old_files()
        self.finish(self.start())
        self.seconds = time.monotonic() - began
        self.expected = _digests(self.output)

    def put_old_files(self) -> None:
        """Put files to be replaced where the results go."""
        for name in OUTPUTS:
            (self.output / name).write_bytes(OLD)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command on the frames."""
        image, labels, report = (self.output / name for name in OUTPUTS)
        outputs = ["-o", image, "--labels", labels, "--report", report, "--force"]
        how = ["--quiet", "--set", "quality=fast"]
        return subprocess.Popen(
            [sys.executable, "-m", "panfocus", "fuse", self.frames, *outputs, *how],
            env=os.environ | {"TMPDIR": str(self.scratch)},
        )

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for a run that has to succeed."""
        if process.wait(timeout=300) != 0:
            raise RuntimeError(f"a run that nobody disturbed ended with {process.returncode}")

    def temporaries(self) -> list[Path]:
        """Return the files that are, or were, being written."""
        return list(self.output.glob(f"{TEMPORARY}*"))

    def complaints(self) -> list[str]:
        """Say what a kill has harmed."""
        found = []
        if _digests(self.frames) != self.originals:
            found.append("an original was changed")
        if left := list(self.scratch.iterdir()):
            found.append(f"left in the scratch folder: {left}")
        for path in self.output.iterdir():
            data = path.read_bytes()
            if path.name.startswith(TEMPORARY) or data == OLD:
                continue
            if path.name not in OUTPUTS:
                found.append(f"left behind: {path.name}")
            elif path.suffix == ".json":  # it holds times, and is not the same twice
                json.loads(data)
            elif hashlib.sha256(data).hexdigest() != self.expected[path.name]:
                found.append(f"half a file: {path.name}")
        if missing := set(OUTPUTS) - {path.name for path in self.output.iterdir()}:
            found.append(f"lost: {missing}")
        return found


def run(count: int, folder: Path, *, seed: int = 0) -> Outcome:
    """Kill so many runs; at the end, one that is left alone has to succeed and to clear away the rest."""
    scene, outcome, rng = Scene(folder), Outcome(), np.random.default_rng(seed)
    number = 0
    while outcome.killed < count:
        number += 1
        for path in scene.output.iterdir():
            if not path.name.startswith(TEMPORARY):  # what is left behind stays, for the next run to clear
                path.unlink()
        scene.put_old_files()
        known = set(scene.temporaries())
        process = scene.start()
        if number % 2:
            while process.poll() is None and not set(scene.temporaries()) - known:
                time.sleep(0.0005)
            time.sleep(rng.uniform(0, 0.004))
        else:
            time.sleep(rng.uniform(0, scene.seconds))
        process.kill()
        if process.wait() == 0:
            outcome.too_late += 1
        else:
            outcome.killed += 1
            outcome.writing += bool(new := set(scene.temporaries()) - known)
            outcome.left_behind += len(new)
        outcome.failures += [f"kill {number}: {complaint}" for complaint in scene.complaints()]
    scene.put_old_files()
    scene.finish(scene.start())
    if sorted(path.name for path in scene.output.iterdir()) != sorted(OUTPUTS):
        outcome.failures.append(f"not cleared away: {[path.name for path in scene.temporaries()]}")
    return outcome


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(given.count, Path(folder), seed=given.seed)
    for failure in outcome.failures:
        print(failure)
    print(
        f"{outcome.killed} runs killed in {time.perf_counter() - began:.0f} s, {outcome.writing} of them "
        f"while files were written, {outcome.too_late} had ended before; {outcome.left_behind} temporary "
        f"files were left and cleared away by later runs; {len(outcome.failures)} failures"
    )
    sys.exit(1 if outcome.failures else 0)


if __name__ == "__main__":
    main()
