"""Checks of a fused store: a region fused separately has the same bits, and other programs open it.

    python -m benchmarks.tiled_store_checks STORE    # shows it in napari, which needs a screen

`benchmarks.tiled_store` calls the other checks.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PIXEL, STEP = 0.25, 2.0  # micrometers: size of a pixel, distance of slices
REACH = 300  # compared pixels on each side of a corner of four tiles
GRID = 256  # regions start at multiples of this, because methods may use a grid

Check = tuple[bool, str]  # whether it passed, and the finding


def check_region(source: Path, fused: Path, report: dict[str, Any]) -> Check:
    """Fuse a region around a corner of four tiles as a separate image, and compare it without its margins.

    Measurements of all slices, such as the noise, come from the whole store.
    """
    import zarr

    from panfocus.methods import Tile, get_method
    from panfocus.tiled_store.tile_plan import tile_regions

    frames, result = zarr.open_array(source / "0"), zarr.open_array(fused / "0")
    (unit,) = report["units"]
    assert not unit["hot_pixels"]["fixed"] + unit["hot_pixels"]["single"], "the scene has no hot pixels"
    assert np.all(np.array(unit["exposure"]["gains"]) == 1), "all slices are equally bright"
    halo = unit["halo"]
    region, inner = [], []
    tiles = tile_regions(result.shape, unit["tile"], result.chunks[0])
    for axis, length in enumerate(result.shape):
        starts = {tile[axis].start for tile in tiles} - {0}
        corner = min(starts, key=lambda start: abs(start - length // 2), default=length // 2)
        first = max(0, corner - REACH - halo) // GRID * GRID
        last = min(length, corner + REACH + halo)
        region.append(slice(first, last))
        inner.append(slice(halo if first else 0, last - first - (halo if last < length else 0)))
    pixels = np.asarray(frames[:, *region])
    method = get_method("panfocus").from_measurements(unit["measured"])
    alone = method.fuse(pixels, Tile.whole(pixels.shape[1:])).image[tuple(inner)]
    same = np.array_equal(alone, np.asarray(result[tuple(region)])[tuple(inner)])
    size = " x ".join(str(span.stop - span.start) for span in inner)
    return same, f"{size} pixels across tiles: {'same bits' if same else 'DIFFERENT bits'}"


def check_with_ome_zarr(fused: Path) -> Check:
    """Open the store with ome-zarr-py, and check scale, units and levels."""
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    (node,) = Reader(parse_url(str(fused)))()
    scale = node.metadata["coordinateTransformations"][0][0]["scale"]
    units = {axis["unit"] for axis in node.metadata["axes"]}
    has_pixels = float(np.asarray(node.data[-1]).mean()) > 0  # smallest level
    good = scale == [PIXEL, PIXEL] and units == {"micrometer"} and has_pixels
    return good, f"{scale[0]} {units.pop()} per pixel, {len(node.data)} levels"


def check_with_tifffile(small: Path, folder: Path, run_command: Callable[[list[object]], None]) -> Check:
    """Fuse a small store to OME-TIFF. Check its pixel size, tiles and levels, and compare with `pf.fuse`."""
    import tifffile
    import zarr

    import panfocus as pf

    target = folder / "small.ome.tif"
    run_command(["fuse", small, "-o", target, "--force", "--threads", "1", "--quiet"])
    with tifffile.TiffFile(target) as tiff:
        described = tifffile.xml2dict(tiff.ome_metadata)["OME"]["Image"]["Pixels"]
        levels, found = len(tiff.series[0].levels), tiff.asarray()
        is_tiled = tiff.pages[0].is_tiled
    expected = pf.fuse(np.asarray(zarr.open_array(small / "0")), maps=()).image
    same = np.array_equal(found, expected)
    has_size = (described["PhysicalSizeX"], described["PhysicalSizeXUnit"]) == (PIXEL, "µm")
    good = same and has_size and is_tiled and levels > 1
    size = " x ".join(map(str, found.shape))
    bits = "same bits as pf.fuse" if same else "DIFFERENT bits than pf.fuse"
    return good, f"{size}: {PIXEL} µm per pixel, {levels} levels, {bits}"


def check_with_napari(fused: Path) -> Check:
    """Show the store in napari, in a separate process with a virtual screen."""
    command = [sys.executable, "-m", "benchmarks.tiled_store_checks", str(fused)]
    if not shutil.which("xvfb-run"):
        return False, "xvfb-run is not installed"
    done = subprocess.run(
        ["xvfb-run", "-a", *command], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        return False, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    layer = json.loads(done.stdout.splitlines()[-1])
    good = layer["scale"] == [PIXEL, PIXEL] and layer["multiscale"] and layer["drawn"]
    return good, f"layer scale {layer['scale'][0]} {layer['units'][0]}, {layer['levels']} levels, drawn"


def show_in_napari(fused: Path) -> None:
    """Open a store as OME-Zarr plugins do, and print the properties of the layer as JSON."""
    import napari
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    (node,) = Reader(parse_url(str(fused)))()
    viewer = napari.Viewer(show=True)
    layer = viewer.add_image(
        node.data,
        multiscale=True,
        scale=node.metadata["coordinateTransformations"][0][0]["scale"],
        units=[axis["unit"] for axis in node.metadata["axes"]],
    )
    viewer.reset_view()
    screen = viewer.screenshot(flash=False)
    print(
        json.dumps(
            {
                "scale": layer.scale.tolist(),
                "units": [str(unit) for unit in layer.units],
                "multiscale": layer.multiscale,
                "levels": len(layer.data),
                "drawn": bool(np.ptp(screen[..., :3]) > 0),
            }
        )
    )
    viewer.close()


if __name__ == "__main__":
    show_in_napari(Path(sys.argv[1]))
