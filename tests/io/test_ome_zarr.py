"""OME-Zarr, compared with ome-zarr-py."""

import json
import pickle
import sys

import numpy as np
import pytest

from panfocus.errors import FileError, InputError
from panfocus.io.input_files import is_zarr
from panfocus.io.ome_zarr import Axis, ZarrFrames, read_ome_zarr
from panfocus.io.ome_zarr_writer import NewImage, create_ome_zarr, open_level
from panfocus.io.read_stack import read_stack
from rejections import rejected

zarr = pytest.importorskip("zarr")
pytest.importorskip("ome_zarr")

SHAPE = (2, 3, 4, 37, 53)  # t, c, z, y, x
UNITS = {"t": "second", "z": "micrometer", "y": "micrometer", "x": "micrometer"}
SCALE = {"t": 2.0, "c": 1.0, "z": 1.5, "y": 0.25, "x": 0.5}


@pytest.fixture(params=["0.4", "0.5"])
def theirs(request, tmp_path, rng):
    """A store of ome-zarr-py, and the pixels in it."""
    from ome_zarr.format import FormatV04, FormatV05
    from ome_zarr.writer import write_image

    pixels = rng.integers(0, 4096, SHAPE, np.uint16)
    path = tmp_path / "theirs.ome.zarr"
    write_image(
        pixels,
        str(path),
        fmt={"0.4": FormatV04(), "0.5": FormatV05()}[request.param],
        axes="tczyx",
        scale=SCALE,
        axes_units=UNITS,
        scale_factors=(2,),
        storage_options={"chunks": (1, 1, 1, 16, 32)},
        metadata={"omero": {"channels": [{"label": name, "color": "FFFFFF"} for name in "abc"]}},
    )
    return path, pixels


def test_an_image_of_ome_zarr_py_is_understood(theirs):
    path, pixels = theirs
    image = read_ome_zarr(path)
    assert image.shape == pixels.shape
    assert image.dtype == np.uint16
    assert [axis.name for axis in image.axes] == list("tczyx")
    assert {axis.name: axis.scale for axis in image.axes} == SCALE
    assert {axis.name: axis.unit for axis in image.axes if axis.unit} == UNITS
    told = image.acquisition
    assert (told.pixel_width, told.pixel_height, told.step, told.unit) == (0.5, 0.25, 1.5, "µm")


def test_slices_are_frames_of_one_channel_or_all(theirs):
    path, pixels = theirs
    image = read_ome_zarr(path)
    one = pickle.loads(pickle.dumps(ZarrFrames(image, 1, [2])))
    assert one.shape == (4, 37, 53)
    np.testing.assert_array_equal(one[:], pixels[1, 2])
    np.testing.assert_array_equal(one[3, 5:20, 30:53], pixels[1, 2, 3, 5:20, 30:53])
    every = ZarrFrames(image, 0, range(3))
    np.testing.assert_array_equal(every[:, 2:9, 1:5], np.moveaxis(pixels[0, :, :, 2:9, 1:5], 0, 3))
    two = ZarrFrames(image, 0, [0, 2])  # two would be taken for grey and alpha
    assert two.shape == (4, 37, 53, 3)
    np.testing.assert_array_equal(two[1, 0:5, 0:5][..., :2], np.moveaxis(pixels[0, ::2, 1, :5, :5], 0, 2))
    assert not two[1][..., 2].any()


def test_read_stack_opens_a_store(theirs):
    path, pixels = theirs
    stack = read_stack(path, channel=2, time=1)
    np.testing.assert_array_equal(stack.frames[:], pixels[0, 1])
    assert [name.startswith(str(path)) for name in stack.names] == [True] * 4
    acquisition = stack.metadata.acquisition
    assert (len(acquisition.channels), acquisition.step, acquisition.unit) == (1, 1.5, "µm")
    assert read_stack(path, time=2).frames.shape == (4, 37, 53, 3)
    for choice, facts in (
        ({}, {"setting": "time"}),
        ({"channel": 4, "time": 1}, {"setting": "channel", "got": 4}),
        ({"time": 3}, {"setting": "time", "got": 3}),
    ):
        with rejected(path, **facts):
            read_stack(path, **choice)


def test_store_of_one_slice_is_not_a_stack(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", data=np.zeros((1, 20, 30), np.uint8))
    with rejected(tmp_path / "a.zarr", InputError, frames=1):
        read_stack(tmp_path / "a.zarr")


@pytest.mark.parametrize("axes", ["tczyx", "zxyc", "zyx"])
def test_each_chunk_is_read_once_however_many_slices_and_channels_it_holds(tmp_path, rng, axes, chunks_read):
    lengths = {"t": 2, "c": 3, "z": 7, "y": 20, "x": 30}
    depths = {"t": 1, "c": 2, "z": 3, "y": 8, "x": 16}
    pixels = rng.integers(0, 999, [lengths[name] for name in axes], np.uint16)
    chunks = tuple(depths[name] for name in axes)
    zarr.create_array(tmp_path / "a.zarr", data=pixels, chunks=chunks, dimension_names=axes)
    image = read_ome_zarr(tmp_path / "a.zarr")
    missing = [name for name in "tczyx" if name not in axes]
    ordered = np.expand_dims(pixels, list(range(len(missing))))
    whole = ordered.transpose([(*missing, *axes).index(name) for name in "tzyxc"])[-1]
    channels = range(image.length("c"))
    expected = whole[..., 0] if len(channels) == 1 else whole
    frames = ZarrFrames(image, image.length("t") - 1, channels)
    assert frames.chunks[:3] == (3, 8, 16)
    chunks_read.clear()
    np.testing.assert_array_equal(frames[:, 3:19, 2:30], expected[:, 3:19, 2:30])
    assert len(chunks_read) == len(set(chunks_read)) == 3 * 3 * 2 * (2 if len(channels) > 1 else 1)
    np.testing.assert_array_equal(frames[4, 3:19], expected[4, 3:19])
    np.testing.assert_array_equal(frames[5:0:-2], expected[5:0:-2])


def test_damage_in_a_chunk_of_several_slices_names_them_all(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", data=np.ones((5, 20, 30), np.uint8), chunks=(2, 32, 32))
    (tmp_path / "a.zarr" / "c" / "1" / "0" / "0").write_bytes(b"\xff" * 7)
    frames = ZarrFrames(read_ome_zarr(tmp_path / "a.zarr"), 0, [0])
    with pytest.raises(FileError) as caught:
        frames[:, 2:7]
    assert caught.value.facts["file"] == f"{tmp_path / 'a.zarr'}, slices 3 to 4, rows 2 to 6, columns 0 to 29"


def test_ome_zarr_py_reads_scale_and_units(tmp_path, rng):
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    axes = (
        Axis("c"),
        Axis("y", "micrometer", 0.25, 10.0),
        Axis("x", "micrometer", 0.5),
    )
    shown = {"color": "FF0000", "window": {"start": 0, "end": 9, "min": 0, "max": 9}}
    omero = {"channels": [{"label": "a", **shown}] * 2}
    path = tmp_path / "ours.ome.zarr"
    create_ome_zarr(path, NewImage(axes, (2, 37, 53), np.dtype(np.uint16), 16, 3, omero=omero))
    pixels = rng.integers(0, 4096, (2, 37, 53), np.uint16)
    open_level(path, 0, change=True)[...] = pixels
    (node,) = Reader(parse_url(str(path)))()
    np.testing.assert_array_equal(np.asarray(node.data[0]), pixels)
    assert [level.shape for level in node.data] == [(2, 37, 53), (2, 19, 27), (2, 10, 14)]
    assert [axis["name"] for axis in node.metadata["axes"]] == ["c", "y", "x"]
    assert [axis.get("unit") for axis in node.metadata["axes"]] == [None, "micrometer", "micrometer"]
    # The centre of a pixel of level 2, of 4 x 4, is 1.5 pixels from that of the first.
    scale, translation = node.metadata["coordinateTransformations"][2]
    assert scale["scale"] == [1, 1.0, 2.0]
    assert translation["translation"] == [0, 10 + 1.5 * 0.25, 1.5 * 0.5]
    mine = read_ome_zarr(path)
    assert mine.axes == axes
    assert mine.channel_names == ("a", "a")


def test_written_store_is_valid_ngff(tmp_path):
    models = pytest.importorskip("ome_zarr_models.v05")
    path = tmp_path / "ours.ome.zarr"
    create_ome_zarr(path, NewImage((Axis("y"), Axis("x")), (300, 200), np.dtype(np.uint8), 128, 2))
    assert models.Image.from_zarr(zarr.open_group(path)).attributes.ome.version == "0.5"


def test_plain_array_of_slices_is_read(tmp_path, rng):
    pixels = rng.integers(0, 255, (3, 20, 30), np.uint8).astype(">u2")
    path = tmp_path / "plain.zarr"
    zarr.create_array(path, data=pixels, chunks=(1, 8, 8), zarr_format=2)
    image = read_ome_zarr(path)
    frames = ZarrFrames(image, 0, [0])
    assert frames.dtype == np.dtype(np.uint16)
    assert frames[:].dtype.isnative
    np.testing.assert_array_equal(frames[:], pixels)


@pytest.mark.parametrize("names", [[None] * 3, [None, "y", "x"], ["z", None, None]])
def test_axes_whose_names_are_null_are_slices_rows_and_columns(tmp_path, names):
    pixels = np.zeros((3, 20, 30), np.uint8)
    zarr.create_array(tmp_path / "plain.zarr", data=pixels, dimension_names=names)
    assert [axis.name for axis in read_ome_zarr(tmp_path / "plain.zarr").axes] == list("zyx")


def test_partly_unnamed_axes_are_rejected(tmp_path):
    zarr.create_array(
        tmp_path / "a.zarr", data=np.zeros((3, 20, 30), np.uint8), dimension_names=["x", None, None]
    )
    with rejected(tmp_path / "a.zarr", key="axes"):
        read_ome_zarr(tmp_path / "a.zarr")
    pixels = np.zeros((2, 3, 20, 30), np.uint8)
    zarr.create_array(tmp_path / "b.zarr", data=pixels, dimension_names=["t", None, "y", "x"])
    with rejected(tmp_path / "b.zarr", key="axes"):
        read_ome_zarr(tmp_path / "b.zarr")


def test_the_only_image_of_a_converted_file_is_found(theirs):
    path, _ = theirs
    outer = path.parent / "converted.zarr"
    zarr.create_group(outer, attributes={"ome": {"bioformats2raw.layout": 3}})
    path.rename(outer / "0")
    assert (read_ome_zarr(outer).shape, read_ome_zarr(outer).notices) == (SHAPE, ())
    (outer / "OME").mkdir()
    (outer / "OME" / "METADATA.ome.xml").touch()
    (notice,) = read_ome_zarr(outer).notices
    assert str(outer / "OME" / "METADATA.ome.xml") in notice
    (outer / "1").mkdir()
    with rejected(outer, problem="several images"):
        read_ome_zarr(outer)


@pytest.mark.parametrize(
    ("attributes", "facts"),
    [
        ({"plate": {}}, {"problem": "plate"}),
        ({"well": {}}, {"problem": "well"}),
        ({"multiscales": []}, {"key": "multiscales"}),
        ({"multiscales": [{"axes": ["y"], "datasets": []}]}, {"key": "datasets"}),
        ({"multiscales": [{"axes": ["y"], "datasets": ["0"]}]}, {"key": "datasets"}),
        ({"multiscales": [{"axes": ["y"], "datasets": [{}]}]}, {"key": "path"}),
        ({}, {"problem": "no image"}),
    ],
)
def test_store_without_a_readable_image_is_rejected(tmp_path, attributes, facts):
    path = tmp_path / "odd.zarr"
    zarr.create_group(path, attributes={"ome": attributes})
    with rejected(path, **facts):
        read_ome_zarr(path)


@pytest.mark.parametrize(
    ("described", "key"),
    [
        ({}, "axes"),
        ({"axes": "zyq"}, "axes"),
        ({"axes": "yyx"}, "axes"),
        ({"axes": "zy"}, "axes"),
        ({"axes": "zyx", "scale": [1, 2]}, "scale"),
        ({"axes": "zyx", "scale": ["a", "b", "c"]}, "scale"),
        ({"axes": "zyx", "scale": [1, 0, 1]}, "scale"),
        ({"axes": "zyx", "translation": [1]}, "translation"),
        ({"axes": ""}, "axes"),
        ({"axes": [5, "y", "x"]}, "axes"),
        ({"axes": "zyx", "unit": 5}, "unit"),
        ({"axes": "zyx", "transforms": None}, "coordinateTransformations"),
        ({"axes": "zyx", "transforms": [{"type": "scale", "path": "s"}]}, "path"),
        ({"axes": "zyx", "transforms": [{"type": "scale"}]}, "scale"),
    ],
)
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_wrong_metadata_is_rejected_with_its_key(tmp_path, described, key, zarr_format):
    path = tmp_path / "odd.zarr"
    group = zarr.create_group(path, zarr_format=zarr_format)
    group.create_array("0", data=np.zeros((2, 8, 9), np.uint8))
    kinds = ("scale", "translation")
    transforms = [{"type": kind, kind: described[kind]} for kind in kinds if kind in described]
    transforms = described.get("transforms", transforms)
    multiscale = {"datasets": [{"path": "0", "coordinateTransformations": transforms}]}
    unit = {"unit": described["unit"]} if "unit" in described else {}
    if "axes" in described:
        multiscale["axes"] = [{"name": name, **unit} for name in described["axes"]]
    attributes = {"multiscales": [multiscale]}
    group.attrs.update(attributes if zarr_format == 2 else {"ome": attributes})
    with rejected(path, key=key):
        read_ome_zarr(path)


def test_a_store_that_is_missing_or_damaged_is_named(tmp_path, theirs):
    (tmp_path / "empty.zarr").mkdir()
    for name in ("none.zarr", "empty.zarr"):
        with rejected(tmp_path / name, problem="no store"):
            read_ome_zarr(tmp_path / name)
    path, _ = theirs
    image = read_ome_zarr(path)
    for chunk in (path / image.array).rglob("*"):
        if chunk.is_file() and chunk.suffix != ".json" and not chunk.name.startswith(".z"):
            chunk.write_bytes(b"\xff" * 7)
    with rejected(f"{path}, slice 1, time 1, channel 1, rows 0 to 36, columns 0 to 52"):
        ZarrFrames(image, 0, [0])[0]


def test_stores_are_recognised_by_name_or_content(theirs, tmp_path):
    path, _ = theirs
    assert is_zarr(tmp_path / "new.ome.zarr")
    path.rename(tmp_path / "bare")
    assert is_zarr(tmp_path / "bare")
    assert not is_zarr(tmp_path)
    assert not is_zarr(tmp_path / "frame.tif")


def test_missing_zarr_names_the_extra(tmp_path, monkeypatch):
    group = zarr.create_group(tmp_path / "s.ome.zarr")
    group.create_array("s0", data=np.zeros((2, 8, 9), np.uint8))
    group.attrs["ome"] = {"multiscales": [{"axes": [*"zyx"], "datasets": [{"path": "s0"}]}]}
    monkeypatch.setitem(sys.modules, "zarr", None)
    with rejected(tmp_path / "s.ome.zarr", extra="ome") as caught:
        read_ome_zarr(tmp_path / "s.ome.zarr")
    assert str(caught.value).count(str(tmp_path)) == 1


def test_attributes_that_are_not_json_are_rejected(tmp_path):
    path = tmp_path / "odd.zarr"
    path.mkdir()
    (path / "zarr.json").write_text("{")
    with rejected(path, problem="damaged"):
        read_ome_zarr(path)
    (path / "zarr.json").write_text(json.dumps({"attributes": [1]}))
    with rejected(path, key="attributes"):
        read_ome_zarr(path)
