"""What is checked of a fused giant: a cut-out against the whole, and whether other programs open it.

    python -m benchmarks.giant_checks STORE    # shows it in napari, which needs a screen

The rest is called by `benchmarks.giant_store`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

PIXEL, STEP = 0.25, 2.0  # micrometers: of a pixel, from slice to slice
REACH = 300  # pixels around a corner of four tiles that are compared
GRID = 256  # cut-outs begin at multiples of it, as whatever grid a method may have


def cut_out_is_the_whole(source: Path, fused: Path, report: dict) -> tuple[bool, str]:
    """Fuse a cut-out around a corner of four tiles as an image of its own; compare all but its margins.

    What is measured of all slices, such as the noise, is that of the giant: a cut-out has another.
    """
    import zarr

    from panfocus.methods import Tile, get_method
    from panfocus.tiled_store.tile_plan import tile_regions

    frames, result = zarr.open_array(source / "0"), zarr.open_array(fused / "0")
    (unit,) = report["units"]
    assert not unit["hot_pixels"]["fixed"] + unit["hot_pixels"]["single"], "the scene has none"
    assert np.all(np.array(unit["exposure"]["gains"]) == 1), "all slices are equally bright"
    halo = unit["halo"]
    cut, inner = [], []
    regions = tile_regions(result.shape, unit["tile"], result.chunks[0])
    for axis, length in enumerate(result.shape):
        starts = {region[axis].start for region in regions} - {0}
        corner = min(starts, key=lambda start: abs(start - length // 2), default=length // 2)
        first = max(0, corner - REACH - halo) // GRID * GRID
        last = min(length, corner + REACH + halo)
        cut.append(slice(first, last))
        inner.append(slice(halo if first else 0, last - first - (halo if last < length else 0)))
    whole = np.asarray(frames[:, *cut])
    alone = (
        get_method("panfocus").from_measurements(unit["measured"]).fuse(whole, Tile.whole(whole.shape[1:]))
    )
    same = np.array_equal(alone.image[tuple(inner)], np.asarray(result[tuple(cut)])[tuple(inner)])
    size = " x ".join(str(span.stop - span.start) for span in inner)
    return bool(same), f"{size} pixels across tiles, {'the same bits' if same else 'NOT the same'}"


def opens_with_ome_zarr(fused: Path) -> tuple[bool, str]:
    """Open a store by the reader of ome-zarr-py; tell the scale it finds, and its levels."""
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    (node,) = Reader(parse_url(str(fused)))()
    scale = node.metadata["coordinateTransformations"][0][0]["scale"]
    units = {axis["unit"] for axis in node.metadata["axes"]}
    seen = float(np.asarray(node.data[-1]).mean())  # the smallest level is there, and not blank
    good = scale == [PIXEL, PIXEL] and units == {"micrometer"} and seen > 0
    return good, f"{scale[0]} {units.pop()} a pixel, {len(node.data)} levels"


def opens_with_tifffile(small: Path, folder: Path, fuse) -> tuple[bool, str]:
    """Fuse a smaller stack to OME-TIFF, and read that: pixel sizes, tiles, levels, the bits of `pf.fuse`."""
    import tifffile
    import zarr

    import panfocus as pf

    target = folder / "small.ome.tif"
    fuse(["fuse", small, "-o", target, "--force", "--threads", "1", "--quiet"])
    with tifffile.TiffFile(target) as tiff:
        told = f'PhysicalSizeX="{PIXEL}" PhysicalSizeXUnit="µm"' in tiff.ome_metadata
        levels, found = len(tiff.series[0].levels), tiff.asarray()
        tiled = tiff.pages[0].is_tiled
    expected = pf.fuse(np.asarray(zarr.open_array(small / "0")), maps=()).image
    same = np.array_equal(found, expected)
    good = same and told and tiled and levels > 1
    size = " x ".join(map(str, found.shape))
    return good, f"{size}: {PIXEL} µm a pixel, {levels} levels, {'bits of pf.fuse' if same else 'NOT equal'}"


def opens_with_napari(fused: Path) -> tuple[bool, str]:
    """Show a store in napari, on a screen in memory, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.giant_checks", str(fused)]
    if not shutil.which("xvfb-run"):
        return False, "no xvfb-run, which napari is shown by"
    done = subprocess.run(
        ["xvfb-run", "-a", *command], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        return False, (done.stderr.strip().splitlines() or ["it ended"])[-1]
    told = json.loads(done.stdout.splitlines()[-1])
    good = told["scale"] == [PIXEL, PIXEL] and told["multiscale"] and told["shown"]
    return good, f"layer scale {told['scale'][0]} {told['units'][0]}, {told['levels']} levels, drawn"


def show_in_napari(fused: Path) -> None:
    """Open a store as plugins for OME-Zarr do, and print what has become of it."""
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
                "shown": bool(np.ptp(screen[..., :3]) > 0),
            }
        )
    )
    viewer.close()


if __name__ == "__main__":
    show_in_napari(Path(sys.argv[1]))
