"""Kill runs of the command at random moments: no file may be incomplete, no original lost.

Half of the kills come at any moment of the run, the others while files are written, which is short and where
damage is possible.
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
OLD_CONTENT = b"content of an older file"
TEMPORARY = ".panfocus-"  # prefix of files that are being written


@dataclass
class KillCounts:
    """Results of a series of kills."""

    killed: int = 0
    writing: int = 0  # killed while a temporary file existed
    too_late: int = 0  # runs that ended before the kill
    left_behind: int = 0  # temporary files
    failures: list[str] = field(default_factory=list)


class Scene:
    """Folders for frames, outputs and scratch files, and the digests of the expected outputs."""

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
        self.write_old_files()
        self.finish(self.start())  # may compile
        started = time.monotonic()
        self.write_old_files()
        self.finish(self.start())
        self.seconds = time.monotonic() - started
        self.expected = _digests(self.output)

    def write_old_files(self) -> None:
        """Write files that the run is to replace."""
        for name in OUTPUTS:
            (self.output / name).write_bytes(OLD_CONTENT)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command on the frames."""
        image, labels, report = (self.output / name for name in OUTPUTS)
        outputs = ["-o", image, "--labels", labels, "--report", report, "--force"]
        options = ["--quiet", "--set", "quality=fast"]
        return subprocess.Popen(
            [sys.executable, "-m", "panfocus", "fuse", self.frames, *outputs, *options],
            env=os.environ | {"TMPDIR": str(self.scratch)},
        )

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for a run that must succeed."""
        if process.wait(timeout=300) != 0:
            raise RuntimeError(f"An undisturbed run ended with exit code {process.returncode}.")

    def temporaries(self) -> list[Path]:
        """Return the temporary files."""
        return list(self.output.glob(f"{TEMPORARY}*"))

    def find_damage(self) -> list[str]:
        """Return what a kill has damaged."""
        damage = []
        if _digests(self.frames) != self.originals:
            damage.append("changed original")
        if left := list(self.scratch.iterdir()):
            damage.append(f"scratch files: {left}")
        for path in self.output.iterdir():
            data = path.read_bytes()
            if path.name.startswith(TEMPORARY) or data == OLD_CONTENT:
                continue
            if path.name not in OUTPUTS:
                damage.append(f"unexpected file: {path.name}")
            elif path.suffix == ".json":  # it holds times, so its digest differs each time
                json.loads(data)
            elif hashlib.sha256(data).hexdigest() != self.expected[path.name]:
                damage.append(f"incomplete file: {path.name}")
        if missing := set(OUTPUTS) - {path.name for path in self.output.iterdir()}:
            damage.append(f"lost file: {missing}")
        return damage


def run(count: int, folder: Path, *, seed: int = 0, size: int = 700) -> KillCounts:
    """Kill a number of runs. A last one, undisturbed, must succeed and remove what they left."""
    scene, counts, rng = Scene(folder, size), KillCounts(), np.random.default_rng(seed)
    number = 0
    while counts.killed < count:
        number += 1
        for path in scene.output.iterdir():
            if not path.name.startswith(TEMPORARY):  # those are for the next run to remove
                path.unlink()
        scene.write_old_files()
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
            counts.too_late += 1
        else:
            counts.killed += 1
            counts.writing += bool(new := set(scene.temporaries()) - known)
            counts.left_behind += len(new)
        counts.failures += [f"kill {number}: {damage}" for damage in scene.find_damage()]
    scene.write_old_files()
    scene.finish(scene.start())
    if sorted(path.name for path in scene.output.iterdir()) != sorted(OUTPUTS):
        counts.failures.append(f"not removed: {[path.name for path in scene.temporaries()]}")
    return counts


def _digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        counts = run(options.count, Path(folder), seed=options.seed)
    for failure in counts.failures:
        print(failure)
    print(
        f"Killed {counts.killed} runs in {time.perf_counter() - started:.0f} s, {counts.writing} of them "
        f"while they wrote files; {counts.too_late} had ended before. They left {counts.left_behind} "
        f"temporary files, which later runs removed. Failures: {len(counts.failures)}."
    )
    sys.exit(1 if counts.failures else 0)


if __name__ == "__main__":
    main()
