import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_runs import Quiet, render, request_for

import panfocus as pf
from panfocus import parallel
from panfocus.parallel.processes import run_in_processes
from panfocus.tiled_store import tile_plan


@pytest.fixture(scope="session")
def slices():
    """As large as needed for two levels, and for a last row of chunks that is one pixel tall."""
    return render(513, 530)


@pytest.fixture(scope="session")
def whole(slices):
    """What the whole image at once gives."""
    return pf.fuse(slices)


@pytest.fixture(scope="session")
def store(tmp_path_factory, slices):
    """An OME-Zarr of ome-zarr-py, 0.4, with one channel; not to be changed."""
    from ome_zarr.format import FormatV04
    from ome_zarr.writer import write_image

    path = tmp_path_factory.mktemp("giant") / "stack.ome.zarr"
    write_image(
        slices,
        str(path),
        fmt=FormatV04(),
        axes="zyx",
        scale={"z": 2.0, "y": 0.5, "x": 0.25},
        axes_units=dict.fromkeys("zyx", "micrometer"),
        scale_factors=(),
        storage_options={"chunks": (1, 200, 150)},
    )
    return path


@dataclass(frozen=True)
class Fused:
    """What was written, and told."""

    outputs: dict[str, Path]
    report: dict[str, Any]
    said: list[str]


@pytest.fixture(scope="session")
def fused(store, tmp_path_factory):
    """The store, in small tiles with all maps; two processes fuse, the quick stages start none."""
    from panfocus.cli._tiled_store import fuse_store

    folder, listener = tmp_path_factory.mktemp("fused"), Quiet()
    outputs = {name: folder / f"{name}.ome.zarr" for name in ("image", "labels", "confidence", "depth")}
    outputs["never_in_focus"] = folder / "never.ome.zarr"
    request = request_for(store, outputs | {"report": folder / "report.json"})
    with pytest.MonkeyPatch.context() as patch:
        _cut_small(patch)
        patch.setattr(
            parallel,
            "run_in_processes",
            lambda work, tasks, *rest, **named: (
                run_in_processes(work, tasks, *rest, **named)
                if tasks[0][0].stage == "fuse"
                else _one_by_one(work, tasks)
            ),
        )
        fuse_store(request, listener, decisions="shared", scheduler=None, force=False, dry_run=False)
    return Fused(outputs, json.loads((folder / "report.json").read_text()), listener.said)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Start no processes, which takes long; those of `fused` are there, and so are a cluster's."""
    monkeypatch.setattr(parallel, "run_in_processes", _one_by_one)


@pytest.fixture
def small_tiles(monkeypatch):
    _cut_small(monkeypatch)


def _one_by_one(work, tasks, *_, **__):
    return ((i, work(*task)) for i, task in enumerate(tasks))


def _cut_small(patch):
    """Chunks of 128 pixels, and tiles of two each way, as of images that are far larger."""
    patch.setattr(tile_plan, "CHUNKS", (128,))
    patch.setattr(tile_plan, "LARGEST_SIDE", 256)
    patch.setattr(tile_plan, "LOOKED_AT", 200)  # a chunk of the store: parts end where others begin


@pytest.fixture
def channels(tmp_path, slices):
    """Two time points of two channels, 0.5, whose channels are sharp in different slices; and the pixels."""
    import zarr
    from ome_zarr.writer import write_image

    part = slices[:, :150, :140]
    pixels = np.stack([np.stack([part, part[::-1] // 2]), np.stack([part[:, ::-1], part[::-1, ::-1] // 3])])
    write_image(
        pixels,
        str(tmp_path / "channels.ome.zarr"),
        axes="tczyx",
        scale_factors=(),
        scale={"t": 3.0, "c": 1.0, "z": 1.0, "y": 0.5, "x": 0.5},
        axes_units={"t": "second", **dict.fromkeys("zyx", "micrometer")},
    )
    group = zarr.open_group(tmp_path / "channels.ome.zarr")
    shown = [
        {"label": name, "color": "00FF00", "window": {"start": 0, "end": 9, "min": 0, "max": 9}}
        for name in "ab"
    ]
    ome = group.attrs["ome"]
    (multiscale,) = ome["multiscales"]
    multiscale |= {"name": "cells"}
    place = {"type": "translation", "translation": [0.0, 0.0, 20.0, -5.0, 7.0]}
    multiscale["datasets"][0]["coordinateTransformations"].append(place)
    omero = {"channels": shown, "rdefs": {"defaultZ": 2, "defaultT": 1, "model": "color"}}
    group.attrs["ome"] = {**ome, "omero": omero}
    return tmp_path / "channels.ome.zarr", pixels
