"""Small stacks in folders, and helpers to fuse them. A fast method is used unless a test needs another."""

from contextlib import ExitStack, contextmanager

import numpy as np
from scipy.ndimage import gaussian_filter

from panfocus.batch import find_stacks
from panfocus.batch.batch_run import batch_folder, plan_stacks, run_batch
from panfocus.batch.output_names import RECORD
from panfocus.batch.summary import Summary
from panfocus.io.encode import write_image
from panfocus.io.lock import lock_folder
from panfocus.job.request import Outputs, Request
from panfocus.job.runner import run
from waits import SECONDS

METHOD = "pca"


def plan_batch(data, output, method=METHOD, **settings):
    """Return the tasks of a batch of all stacks below a folder."""
    stacks = find_stacks.by_folders(data, without=output).stacks
    template = Request(inputs=(), outputs=Outputs(), method=method, **settings)
    return plan_stacks(stacks, output, template, folder=data, file_format="png", maps=())


def run_tasks_of_batch(tasks, **options):
    """Run a batch; return the outcomes and the warnings."""
    warnings = []
    with batch_folder(tasks[0].output, [task.name for task in tasks]):
        outcomes = run_batch(tasks, done=[], warn=warnings.append, progress=lambda *_: None, **options)
    return outcomes, warnings


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


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


def fuse_alone(folder, out):
    """Return the bytes of the picture that a fusion of the stack alone writes."""
    request = Request(inputs=(str(folder),), outputs=Outputs(image=out), method=METHOD)
    run(request, force=True)
    return out.read_bytes()


def finish(process):
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def n_finished(output):
    return len(list(output.glob(f"*/{RECORD}")))


@contextmanager
def held(output, *names):
    """Make workers wait at some stacks for the duration of the block."""
    with ExitStack() as stack:
        for name in names:
            (output / name).mkdir(parents=True)
            stack.enter_context(lock_folder(output / name))
        Summary(output, [], run=0).write({})  # marks the folder as a batch's
        yield


def check_complete(data, output, tmp_path, *, damaged=()):
    """Check that all but the damaged stacks have the bits of single fusions, and no other files."""
    for stack in sorted(data.iterdir()):
        result = output / stack.name
        if stack.name in damaged:
            assert not result.exists()
            continue
        assert (result / "fused.png").read_bytes() == fuse_alone(stack, tmp_path / "alone.png")
        assert sorted(path.name for path in result.iterdir()) == [
            RECORD,
            "fused.png",
            "report.json",
            "thumbnail.png",
        ]
