"""Helpers that fuse stores and read the results."""

import subprocess
import sys

import numpy as np
from scipy.ndimage import gaussian_filter

from panfocus.job.request import Outputs, Request
from panfocus.parallel import open_cluster
from panfocus.tiled_store.prepare import prepare
from panfocus.tiled_store.store_run import run


def render(height, width, n=3, seed=3):
    """Return 16-bit slices (n, h, w), sharp in crossing bands, with hot pixels and a brighter slice."""
    rng = np.random.default_rng(seed)
    sharp = gaussian_filter(rng.random((height, width)), 0.8)
    sharp = 0.1 + 0.7 * (sharp - sharp.min()) / np.ptp(sharp)
    y, x = np.mgrid[:height, :width]
    depth = (x / width + 0.3 * np.sin(y / 90)) % 1 * n
    stack = np.stack([np.where(depth.astype(int) == k, sharp, gaussian_filter(sharp, 2.5)) for k in range(n)])
    stack[-1] *= 1.08
    stack = np.rint(stack * 40000).astype(np.uint16)
    stack[:, [40, 255, 256, 300], [17, 256, 299, 512 % width]] = 65535
    stack[:, 255:258, 120:123] = 65535  # a cluster across tiles
    return stack


class Terminal:
    """Stands in for the terminal of the command, and keeps the lines."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(str(line))

    warn = say

    def progress(self, stage, done):
        pass

    def finish(self):
        pass


class InterruptedTerminal(Terminal):
    """Interrupts the run when a third is fused."""

    def progress(self, stage, done):
        if stage == "fuse" and done > 0.3:
            raise KeyboardInterrupt


def request_for(store, outputs, **options):
    return Request(inputs=(str(store),), outputs=Outputs(**outputs), threads=2, **options)


def fuse_store(store, outputs, *, scheduler=None, terminal=None, **options):
    """Fuse a store; return the report."""
    terminal = terminal or Terminal()
    with open_cluster(scheduler, terminal.say) as cluster:
        job = prepare(request_for(store, outputs, **options), force=False, cluster=cluster)
        return run(
            job,
            cluster=cluster,
            progress=terminal.progress,
            notify=terminal.say,
            before_commit=terminal.finish,
        )


def levels(path):
    """Return the pixels of all levels of a store."""
    import zarr

    group = zarr.open_group(path, mode="r")
    return [np.asarray(group[str(i)]) for i in range(len(group.attrs["ome"]["multiscales"][0]["datasets"]))]


def panfocus(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "panfocus", *map(str, arguments)], capture_output=True, text=True, check=False
    )
