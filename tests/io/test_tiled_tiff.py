"""TIFFs larger than memory, compared with tifffile."""

import pickle

import numpy as np
import pytest
import tifffile

from panfocus._threads import limit_threads
from panfocus.errors import FileError
from panfocus.io.ome_zarr import Axis
from panfocus.io.ome_zarr_writer import NewImage, create_ome_zarr, open_level
from panfocus.io.tiff_writer import write_store_as_tiff
from panfocus.io.tiled_tiff import open_large_image, read_tiled_tiff
from rejections import rejected

pytest.importorskip("zarr")

LAYOUTS = {
    "one strip": {},
    "packed strips": {"rowsperstrip": 7, "compression": "zlib", "predictor": True},
    "tiles": {"tile": (32, 16)},
    "packed tiles": {"tile": (16, 32), "compression": "lzw"},
    "other byte order": {"byteorder": ">"},
    "other byte order, packed": {"byteorder": ">", "compression": "zlib", "rowsperstrip": 8},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_rectangle_equals_the_decoded_page(tmp_path, rng, layout, dtype):
    pixels = (rng.random((3, 61, 83)) * 250).astype(dtype)
    options = dict(LAYOUTS[layout])
    if dtype == np.float32:
        options.pop("predictor", None)
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="minisblack", metadata=None, **options)
    frames = pickle.loads(pickle.dumps(open_large_image(tmp_path / "a.tif").frames(0, [0])))
    assert frames.shape == pixels.shape
    np.testing.assert_array_equal(frames[:], pixels)
    np.testing.assert_array_equal(frames[2, 15:33, 30:83], pixels[2, 15:33, 30:83])
    np.testing.assert_array_equal(frames[1, 60:61, 0:1], pixels[1, 60:61, 0:1])


@pytest.mark.parametrize("colours", [(), (3,)], ids=["grey", "colour"])
def test_tiles_of_jpeg_are_read_as_tifffile_reads_them(tmp_path, colours):
    rows, cols = np.mgrid[:61, :83]
    pixels = np.stack([np.uint8(rows + cols + 30 * k) for k in range(3)])
    if colours:
        pixels = np.stack([pixels, pixels[:, ::-1], pixels[:, :, ::-1]], axis=-1)
    tifffile.imwrite(
        tmp_path / "a.tif",
        pixels,
        tile=(32, 16),
        compression="jpeg",
        photometric="rgb" if colours else "minisblack",
        metadata=None,
    )
    frames = open_large_image(tmp_path / "a.tif").frames(0, range(3 if colours else 1))
    np.testing.assert_array_equal(frames[:], tifffile.imread(tmp_path / "a.tif"))


def test_axes_units_and_channels_are_those_of_ome(tmp_path, rng):
    pixels = rng.integers(0, 999, (2, 3, 4, 40, 50), np.uint16)
    tifffile.imwrite(
        tmp_path / "a.ome.tif",
        pixels,
        tile=(16, 32),
        photometric="minisblack",
        metadata={
            "axes": "TZCYX",
            "PhysicalSizeX": 0.5,
            "PhysicalSizeY": 0.25,
            "PhysicalSizeZ": 2.0,
            "Channel": {"Name": list("abcd")},
        },
    )
    image = read_tiled_tiff(tmp_path / "a.ome.tif")
    assert [axis.name for axis in image.axes] == list("tczyx")
    assert image.shape == (2, 4, 3, 40, 50)
    assert [(axis.scale, axis.unit) for axis in image.axes[2:]] == [
        (2.0, "micrometer"),
        (0.25, "micrometer"),
        (0.5, "micrometer"),
    ]
    assert image.channel_names == tuple("abcd")
    frames = image.frames(1, [1, 3])
    np.testing.assert_array_equal(frames[2, 3:20, 7:50][..., 0], pixels[1, 2, 1, 3:20, 7:50])
    np.testing.assert_array_equal(frames[2, 3:20, 7:50][..., 1], pixels[1, 2, 3, 3:20, 7:50])


def test_ome_name_position_colours_and_units_are_read(tmp_path, rng):
    tifffile.imwrite(
        tmp_path / "a.ome.tif",
        rng.integers(0, 999, (2, 3, 2, 40, 50), np.uint16),
        photometric="minisblack",
        metadata={
            "axes": "TZCYX",
            "Name": "wing & vein",
            "PhysicalSizeX": 0.5,
            "PhysicalSizeY": 0.25,
            "PhysicalSizeZ": 500,
            "PhysicalSizeZUnit": "nm",
            "TimeIncrement": 250,
            "TimeIncrementUnit": "µs",
            "Channel": {
                "Name": ["DAPI", ""],
                "Color": [0x0000FFFF, -16711681],
                "EmissionWavelength": [461.0, 509.0],
            },
            "Plane": {"PositionX": [7.5] * 12, "PositionXUnit": ["µm"] * 12}
            | {"PositionY": [-2] * 12, "PositionYUnit": ["mm"] * 12},
        },
    )
    image = read_tiled_tiff(tmp_path / "a.ome.tif")
    assert image.name == "wing & vein"
    assert [(axis.name, axis.unit, axis.scale, axis.translation) for axis in image.axes if axis.unit] == [
        ("t", "microsecond", 250, 0),
        ("z", "micrometer", 0.5, 0),
        ("y", "micrometer", 0.25, -2000),
        ("x", "micrometer", 0.5, 7.5),
    ]
    assert image.channel_names == ("DAPI", "")
    # -16711681 is FF00FFFF without its sign: red and blue, opaque.
    assert [channel["color"] for channel in image.omero["channels"]] == ["0000FF", "FF00FF"]
    attributes = image.acquisition.channel_details
    assert [each["EmissionWavelength"] for each in attributes] == ["461.0", "509.0"]
    assert [each["Color"] for each in attributes] == ["65535", "-16711681"]


def test_imagej_time_and_colours_are_read(tmp_path, rng):
    tables = [np.zeros((3, 256), np.uint8) for _ in range(2)]
    tables[0][1] = tables[1][2] = np.arange(256)
    tifffile.imwrite(
        tmp_path / "a.tif",
        rng.integers(0, 999, (2, 3, 2, 40, 50), np.uint16),
        imagej=True,
        metadata={"axes": "TZCYX", "finterval": 1.5, "mode": "composite", "LUTs": tables},
    )
    image = read_tiled_tiff(tmp_path / "a.tif")
    assert (image.axis("t").scale, image.axis("t").unit) == (1.5, "second")
    assert [channel["color"] for channel in image.omero["channels"]] == ["00FF00", "0000FF"]


@pytest.mark.parametrize("samples", [3, 4])
def test_channels_of_colour_pages_are_named_by_colour(tmp_path, rng, samples):
    pixels = rng.integers(0, 255, (3, 40, 50, samples), np.uint8)
    extra = {"extrasamples": ["unassalpha"]} if samples == 4 else {}
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="rgb", metadata=None, **extra)
    shown = read_tiled_tiff(tmp_path / "a.tif").omero["channels"]
    told = [(channel["label"], channel["color"]) for channel in shown]
    colours = [("red", "FF0000"), ("green", "00FF00"), ("blue", "0000FF"), ("alpha", "FFFFFF")]
    assert told == colours[:samples]


@pytest.mark.parametrize("layout", ["one strip", "packed tiles"])
def test_colours_are_channels(tmp_path, rng, layout):
    pixels = rng.integers(0, 255, (3, 40, 50, 3), np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="rgb", metadata=None, **LAYOUTS[layout])
    frames = read_tiled_tiff(tmp_path / "a.tif").frames(0, range(3))
    np.testing.assert_array_equal(frames[:, 5:33, 2:49], pixels[:, 5:33, 2:49])


def test_tiles_in_colour_are_decoded_once_for_all_samples(tmp_path, rng, monkeypatch):
    pixels = rng.integers(0, 255, (3, 40, 50, 3), np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="rgb", metadata=None, **LAYOUTS["packed tiles"])
    decoded = []
    monkeypatch.setattr("panfocus.io.tiff.check_lzw", lambda page, index: decoded.append(index))
    image = read_tiled_tiff(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.frames(0, range(3))[:, :20, :32], pixels[:, :20, :32])
    assert decoded == [0, 2] * 3
    np.testing.assert_array_equal(image.frames(0, [1])[:], pixels[..., 1])
    assert image.chunk_bytes == 16 * 32 * 3


@pytest.mark.parametrize(
    ("options", "rows"),
    [({"compression": "zlib"}, 600), ({"compression": "zlib", "rowsperstrip": 7}, 259), ({}, 256)],
)
def test_chunk_covers_whole_strips(tmp_path, options, rows):
    """Small ones are read several at once, and of plain pixels any rows."""
    pixels = np.zeros((2, 600, 50), np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="minisblack", metadata=None, **options)
    image = read_tiled_tiff(tmp_path / "a.tif")
    assert image.chunks == (1, rows, 50)
    assert image.chunk_bytes == rows * 50 * 2


def test_number_of_threads_does_not_change_a_tiff(tmp_path, rng, monkeypatch):
    axes = (Axis("c"), Axis("y", "micrometer", 0.5), Axis("x", "micrometer", 0.5))
    create_ome_zarr(tmp_path / "a.ome.zarr", NewImage(axes, (2, 300, 200), np.dtype(np.uint16), 64))
    open_level(tmp_path / "a.ome.zarr", 0, change=True)[...] = rng.integers(0, 999, (2, 300, 200), np.uint16)
    used, write = [], tifffile.TiffWriter.write

    def noting(*given, **options):
        used.append(options["maxworkers"])
        return write(*given, **options)

    monkeypatch.setattr(tifffile.TiffWriter, "write", noting)
    found = []
    for threads in (1, 3):
        with limit_threads(threads), (tmp_path / "a.ome.tif").open("wb") as file:
            write_store_as_tiff(tmp_path / "a.ome.zarr")(file)
        with tifffile.TiffFile(tmp_path / "a.ome.tif") as tiff:
            found.append(
                [
                    tiff.filehandle.read_array("u1", n, at)
                    for page in tiff.pages
                    for at, n in zip(page.dataoffsets, page.databytecounts, strict=True)
                ]
            )
    assert used == [1, 3]
    assert all(map(np.array_equal, *found))


@pytest.mark.parametrize("samples", [2, 4])
def test_alpha_is_the_last_channel(tmp_path, rng, samples):
    pixels = rng.integers(0, 255, (3, 40, 50, samples), np.uint8)
    colours = "rgb" if samples == 4 else "minisblack"
    tifffile.imwrite(
        tmp_path / "a.tif", pixels, photometric=colours, extrasamples=["unassalpha"], planarconfig="contig"
    )
    frames = read_tiled_tiff(tmp_path / "a.tif").frames(0, range(samples))
    np.testing.assert_array_equal(frames[:], pixels)


def test_time_interval_is_read(tmp_path):
    told = {"axes": "TZYX", "TimeIncrement": 1.5, "TimeIncrementUnit": "min"}
    pixels = np.zeros((2, 3, 32, 32), np.uint8)
    tifffile.imwrite(tmp_path / "a.ome.tif", pixels, photometric="minisblack", metadata=told)
    time = read_tiled_tiff(tmp_path / "a.ome.tif").axes[0]
    assert (time.name, time.scale, time.unit) == ("t", 1.5, "minute")


@pytest.mark.parametrize("compression", [None, "zlib", "lzw"])
@pytest.mark.parametrize("no_data", [0, 200])
def test_tiles_without_data_are_read_as_tifffile_reads_them_and_counted(tmp_path, rng, compression, no_data):
    write_sparse(tmp_path / "a.tif", rng, {1, 7, 11}, no_data, tile=(16, 32), compression=compression)
    image = open_large_image(tmp_path / "a.tif")
    assert image.count_missing(1) == 3
    assert f" {no_data}." in image.describe_missing(3)
    with tifffile.TiffFile(tmp_path / "a.tif") as tiff:
        expected = np.stack([page.asarray() for page in tiff.pages])
    assert (expected == no_data).sum() >= 3 * 8 * 18
    np.testing.assert_array_equal(image.frames(0, [0])[:], expected)
    np.testing.assert_array_equal(image.frames(0, [0])[1, 5:30, 20:50], expected[1, 5:30, 20:50])


def test_empty_page_is_zero_and_truncated_page_is_rejected(tmp_path, rng):
    write_sparse(tmp_path / "a.tif", rng, {0}, 0, rowsperstrip=40)
    image = open_large_image(tmp_path / "a.tif")
    assert not image.frames(0, [0])[0].any()
    assert image.frames(0, [0])[1].any()
    tifffile.imwrite(tmp_path / "b.tif", np.ones((2, 40, 50), np.uint8), compression="zlib", metadata=None)
    whole = (tmp_path / "b.tif").read_bytes()
    (tmp_path / "b.tif").write_bytes(whole[:-20])
    assert open_large_image(tmp_path / "b.tif").count_missing(1) == 0
    with pytest.raises(FileError) as caught:
        open_large_image(tmp_path / "b.tif").frames(0, [0])[:]
    assert caught.value.facts["problem"] == "damaged"
    assert "b.tif" in caught.value.facts["file"]


def write_sparse(path, rng, left_out, no_data, **options):
    """Write 2 pages of 40 x 50, and strike out what the file says of these parts, counted over all pages."""
    tag = [(42113, "s", 0, str(no_data), True)] if no_data else []
    with tifffile.TiffWriter(path) as tiff:
        for _ in range(2):
            pixels = rng.integers(1, 199, (40, 50), np.uint8)
            tiff.write(pixels, photometric="minisblack", metadata=None, extratags=tag, **options)
    with tifffile.TiffFile(path, mode="r+") as tiff:
        n = len(tiff.pages[0].dataoffsets)
        for number, page in enumerate(tiff.pages):
            for name in ("Offsets", "ByteCounts"):
                tag = next(tag for tag in page.tags if tag.name in (f"Tile{name}", f"Strip{name}"))
                kept = [0 if number * n + k in left_out else value for k, value in enumerate(tag.value)]
                tag.overwrite(kept)


def test_pages_that_are_turned_or_differ_are_rejected(tmp_path):
    path, page = tmp_path / "a.tif", np.zeros((40, 50), np.uint8)
    turned = {"extratags": [(0x0112, 3, 1, 6, True)]}
    for pages, options, problem in (((page, page), turned, "turned"), ((page, page[1:]), {}, "pages")):
        with tifffile.TiffWriter(path) as tiff:
            for each in pages:
                tiff.write(each, photometric="minisblack", metadata=None, **options)
        with rejected(path, problem=problem):
            read_tiled_tiff(path)


def test_large_tiles_and_strips_are_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr("panfocus.io.tiled_tiff._MAX_PART", 100)
    pixels = np.zeros((2, 40, 50), np.uint8)
    for options in ({"tile": (16, 16)}, {"compression": "zlib"}):
        tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="minisblack", metadata=None, **options)
        with rejected(tmp_path / "a.tif", limit=100):
            read_tiled_tiff(tmp_path / "a.tif")
