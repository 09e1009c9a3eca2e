"""Pages of TIFFs that are read in bands."""

import tracemalloc

import numpy as np
import pytest
import tifffile

from panfocus.io.disk_array import scratch_frames
from panfocus.io.headers import read_headers
from panfocus.io.read_stack import read_into, read_stack
from panfocus.io.tiff import read_bands
from rejections import rejected

LAYOUTS = {
    "one strip": {},
    "strips": {"rowsperstrip": 7},
    "packed strips": {"rowsperstrip": 7, "compression": "zlib", "predictor": True},
    "tiles": {"tile": (32, 16)},
    "packed tiles": {"tile": (16, 32), "compression": "lzw"},
    "big": {"bigtiff": True, "rowsperstrip": 9},
    "other byte order": {"byteorder": ">"},
    "other byte order, packed": {"byteorder": ">", "compression": "zlib", "rowsperstrip": 8},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("channels", [(), (3,), (4,)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_bands_are_the_page(tmp_path, rng, monkeypatch, layout, channels, dtype):
    monkeypatch.setattr("panfocus.io.tiff._BAND_BYTES", 1000)
    image = rng.integers(0, np.iinfo(dtype).max, (61, 83, *channels), dtype=dtype)
    path = tmp_path / "page.tif"
    tifffile.imwrite(
        path, image, photometric="rgb" if channels else "minisblack", metadata=None, **LAYOUTS[layout]
    )
    headers = read_headers([path, path])
    with scratch_frames((2, *image.shape), image.dtype) as frames:
        read_into(frames, headers)
        for k in range(2):
            np.testing.assert_array_equal(frames[k], image)
    with path.open("rb") as file:
        bands = list(read_bands(file, 0))
    assert len(bands) > 1
    assert all(rows.dtype == dtype for _, rows in bands)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((3, 20, 31), {"planarconfig": "separate"}),
        ((20, 31, 3), {"planarconfig": "contig", "extratags": [(0x0112, 3, 1, 6, True)]}),
    ],
    ids=["planes", "turned"],
)
def test_turned_and_planar_pages_are_read_whole(tmp_path, rng, shape, options):
    image = rng.integers(0, 256, shape, dtype=np.uint8)
    tifffile.imwrite(tmp_path / "page.tif", image, photometric="rgb", metadata=None, **options)
    with (tmp_path / "page.tif").open("rb") as file:
        assert read_bands(file, 0) is None
    expected = read_stack([tmp_path / "page.tif"] * 2).frames
    with scratch_frames(expected.shape, expected.dtype) as frames:
        read_into(frames, read_headers([tmp_path / "page.tif"] * 2))
        np.testing.assert_array_equal(frames[1], expected[1])


@pytest.mark.parametrize("layout", [{}, {"tile": (256, 256), "compression": "zlib"}])
def test_large_page_is_never_in_memory_as_a_whole(tmp_path, monkeypatch, layout):
    monkeypatch.setattr("panfocus.io.tiff._BAND_BYTES", 1 << 20)
    image = np.zeros((3000, 2500), np.uint16)
    image[::7] = 300
    path = tmp_path / "large.tif"
    tifffile.imwrite(path, image, metadata=None, **layout)
    headers = read_headers([path, path])
    with scratch_frames((2, *image.shape), image.dtype) as frames:
        tracemalloc.start()
        try:
            read_into(frames, headers, at_once=1)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        np.testing.assert_array_equal(frames[1], image)
    assert peak < image.nbytes / 2


def test_damage_inside_a_band_is_named(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((64, 64), np.uint8), compression="zlib", rowsperstrip=16, metadata=None)
    with tifffile.TiffFile(path) as tiff:
        start = tiff.pages[0].dataoffsets[2]
    data = bytearray(path.read_bytes())
    data[start : start + 8] = b"\xff" * 8
    path.write_bytes(data)
    with scratch_frames((2, 64, 64), np.dtype(np.uint8)) as frames, rejected(path, problem="damaged"):
        read_into(frames, read_headers([path, path]))


def test_a_strip_without_bytes_is_rejected(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((64, 64), np.uint8), compression="zlib", rowsperstrip=16, metadata=None)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        counts = list(tiff.pages[0].databytecounts)
        tiff.pages[0].tags["StripByteCounts"].overwrite([*counts[:2], 0, counts[3]])
    with rejected(path, problem="truncated"):
        read_headers([path])


def test_oversized_tiles_are_rejected(tmp_path):
    """A tile is decoded whole, however little of it lies inside the picture."""
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((64, 64), np.uint8), compression="zlib", tile=(64, 64), metadata=None)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        for name in ("TileWidth", "TileLength"):
            tiff.pages[0].tags[name].overwrite(65_520)
    with rejected(path, problem="tiles"):
        read_headers([path])
