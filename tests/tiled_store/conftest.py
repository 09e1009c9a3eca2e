import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_runs import Terminal, render, request_for

import panfocus as pf
from panfocus import parallel
from panfocus.parallel.processes import run_in_processes
from panfocus.tiled_store import tile_plan


@pytest.fixture(scope="session")
def slices():
    """Large enough for two levels; the last row of chunks is one pixel high."""
    return render(513, 530)


@pytest.fixture(scope="session")
def whole(slices):
    """Result of the whole image at once."""
    return pf.fuse(slices)


@pytest.fixture(scope="session")
def store(tmp_path_factory, slices):
    """An OME-Zarr 0.4 store of ome-zarr-py with one channel. Do not change it."""
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
    """Outputs of a run, its report, and the lines of the command."""

    outputs: dict[str, Path]
    report: dict[str, Any]
    lines: list[str]


@pytest.fixture(scope="session")
def fused(store, tmp_path_factory):
    """The store fused in small tiles, with all maps. Two processes fuse; the short stages start none."""
    from panfocus.cli._tiled_store import fuse_store

    folder, terminal = tmp_path_factory.mktemp("fused"), Terminal()
    outputs = {name: folder / f"{name}.ome.zarr" for name in ("image", "labels", "confidence", "depth")}
    outputs["never_in_focus"] = folder / "never.ome.zarr"
    request = request_for(store, outputs | {"report": folder / "report.json"})
    with pytest.MonkeyPatch.context() as patch:
        _use_small_tiles(patch)
        patch.setattr(
            parallel,
            "run_in_processes",
            lambda function, tasks, *rest, **named: (
                run_in_processes(function, tasks, *rest, **named)
                if tasks[0][0].stage == "fuse"
                else _run_here(function, tasks)
            ),
        )
        fuse_store(request, terminal, scheduler=None, force=False, dry_run=False)
    return Fused(outputs, json.loads((folder / "report.json").read_text()), terminal.lines)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Start no processes, which would take long."""
    monkeypatch.setattr(parallel, "run_in_processes", _run_here)


@pytest.fixture
def small_tiles(monkeypatch):
    _use_small_tiles(monkeypatch)


def _run_here(function, tasks, *_, **__):
    return ((i, function(*task)) for i, task in enumerate(tasks))


def _use_small_tiles(patch):
    """Use chunks of 128 pixels and tiles of 2 x 2 chunks, as if the image were far larger."""
    patch.setattr(tile_plan, "CHUNK_SIDES", (128,))
    patch.setattr(tile_plan, "MAX_TILE_SIDE", 256)
    patch.setattr(tile_plan, "SEARCH_SIDE", 200)  # a chunk of the store


@pytest.fixture
def channels(tmp_path, slices):
    """An OME-Zarr 0.5 store of two time points and two channels that differ in sharp slices; its pixels."""
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
