"""Small stacks in folders, as a microscope leaves them, and what single runs make of them."""

import numpy as np
from scipy.ndimage import gaussian_filter
from waits import SECONDS

from panfocus.batch import find_stacks
from panfocus.batch.batch_run import plan
from panfocus.batch.names import RECORD
from panfocus.io.encode import write_image
from panfocus.job.request import Outputs, Request
from panfocus.job.runner import run


class Deaf:
    def say(self, line): ...
    def warn(self, line): ...
    def progress(self, stage, done): ...
    def finish(self): ...


def planned(data, output, **settings):
    """Return the tasks of a batch of all stacks below a folder."""
    stacks = find_stacks.by_folders(data, without=output).stacks
    like = Request(inputs=(), outputs=Outputs(), **settings)
    return plan(stacks, output, like, folder=data, file_format="png", maps=())


def write_stacks(folder, names):
    """Write two frames for each name: the first sharp on the left, the second on the right."""
    rng = np.random.default_rng(len(names))
    for name in names:
        (folder / name).mkdir(parents=True)
        sharp = gaussian_filter(rng.random((40, 33)), 0.6)
        frames = np.stack([sharp, gaussian_filter(sharp, 2)])
        frames[:, :, 16:] = frames[::-1, :, 16:].copy()
        for part, frame in zip("ab", np.rint(255 * frames).astype(np.uint8), strict=True):
            write_image(folder / name / f"{part}.png", frame)


def damage(path):
    path.write_bytes(path.read_bytes()[:-100])


def fused_alone(folder, out):
    """Return the bytes of the picture that `panfocus fuse` writes for a stack by itself."""
    run(Request(inputs=(str(folder),), outputs=Outputs(image=out)), Deaf(), force=True, dry_run=False)
    return out.read_bytes()


def finish(process):
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def n_finished(output):
    return len(list(output.glob(f"*/{RECORD}")))


def check_complete(data, output, tmp_path, *, damaged):
    """All but the damaged stacks are there, as single runs give them, and nothing that is half."""
    for stack in sorted(data.iterdir()):
        result = output / stack.name
        if stack.name in damaged:
            assert not result.exists()
            continue
        assert (result / "fused.png").read_bytes() == fused_alone(stack, tmp_path / "alone.png")
        assert sorted(path.name for path in result.iterdir()) == [
            RECORD,
            "fused.png",
            "report.json",
            "thumbnail.png",
        ]
