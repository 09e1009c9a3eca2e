"""Frames read from layers, and layers that cannot be fused."""

import dask.array as da
import numpy as np
import pytest
from napari.layers import Image

import panfocus as pf
from panfocus.errors import FileError, InputError
from panfocus.io.ome_zarr import Axis, read_ome_zarr
from panfocus.io.ome_zarr_writer import NewImage, create_ome_zarr, write_part
from panfocus.napari_plugin.layer_frames import from_list, from_stacks

RNG = np.random.default_rng(3)
TZYX = RNG.integers(0, 256, (2, 5, 13, 17), np.uint8)


def test_slices_are_taken_along_the_focus_axis():
    layer = Image(TZYX)
    np.testing.assert_array_equal(from_stacks([layer], 1, position=[1, 0]).frames[:], TZYX[1])
    np.testing.assert_array_equal(from_stacks([layer], 0, position=[0, 3]).frames[:], TZYX[:, 3])


@pytest.mark.parametrize("labels", ["zyxc", "tyxz", "yxcz", "xyzt"])
def test_image_axes_must_be_the_last_two(labels):
    layer = Image(TZYX, name="a", axis_labels=tuple(labels))
    with pytest.raises(InputError) as caught:
        from_stacks([layer], 0)
    assert caught.value.facts["layer"] == "a"


@pytest.mark.parametrize("labels", ["tzyx", "czyx", "zcyx", "TZYX", "abde"])
def test_other_axis_names_are_accepted(labels):
    assert len(from_stacks([Image(TZYX, axis_labels=tuple(labels))], 0).frames) == 2


@pytest.mark.parametrize(
    ("position", "is_reported"),
    [
        ({}, False),
        ({"translate": (0, 0.4)}, False),  # less than half a pixel
        ({"translate": (0, 40)}, True),
        ({"scale": (2, 2)}, True),
        ({"rotate": 30}, True),
        ({"units": ("um", "um")}, True),
    ],
)
def test_layers_at_other_positions_are_reported(position, is_reported):
    layers = [Image(TZYX[0, 0], name="a"), Image(TZYX[0, 1], name="b", **position)]
    assert len(from_list(layers).notices) == is_reported


def test_notices_name_layers_and_axes():
    layers = [Image(TZYX, name="a"), Image(TZYX, name="b", translate=(0, 0, 3, 0))]
    position, chosen = from_stacks(layers, 1, position=[1, 0]).notices
    assert position.startswith("b and a ")
    assert "axis -4 = 1" in chosen  # named as at its slider


def test_frame_of_several_layers_has_all_names():
    assert from_stacks([Image(TZYX[0], name=name) for name in "ab"], 0).names[1] == "slice 1 of a and b"


def test_rgb_keeps_its_colours():
    colour = RNG.integers(0, 256, (4, 13, 17, 3), np.uint8)
    source = from_stacks([Image(colour, rgb=True)], 0)
    np.testing.assert_array_equal(source.frames[1:3, 2:5, 4:9], colour[1:3, 2:5, 4:9])


def test_channels_on_an_axis():
    czyx = RNG.integers(0, 256, (3, 5, 13, 17), np.uint8)
    source = from_stacks([Image(czyx)], 1, 0)
    np.testing.assert_array_equal(source.frames[:], np.moveaxis(czyx, 0, -1))
    assert [channel.number for channel in source.channels] == [0, 1, 2]


@pytest.mark.parametrize("names", ["ab", "abc", "abcd", ["grey", "Alpha"], "rgba"], ids="-".join)
def test_channels_match_the_frames_of_a_store(tmp_path, names):
    czyx = RNG.random((len(names), 3, 13, 17)).astype(np.float32)
    axes = tuple(Axis(name) for name in "czyx")
    shown = {"channels": [{"label": name} for name in names]}
    create_ome_zarr(tmp_path / "s.zarr", NewImage(axes, czyx.shape, czyx.dtype, side=8, omero=shown))
    write_part(tmp_path / "s.zarr", 0, (...,), czyx)
    stored = read_ome_zarr(tmp_path / "s.zarr").frames(0, range(len(names)))
    source = from_stacks([Image(stack, name=name) for stack, name in zip(czyx, names, strict=True)], 0)
    assert source.frames.shape == stored.shape
    np.testing.assert_array_equal(source.frames[:], stored[:])
    np.testing.assert_array_equal(source.frames[:][..., : len(names)], np.moveaxis(czyx, 0, -1))


@pytest.mark.parametrize("make", [np.asarray, da.from_array], ids=["numpy", "dask"])
def test_other_byte_orders_are_converted(make):
    swapped = TZYX[0].astype(np.dtype(np.uint16).newbyteorder())
    source = from_stacks([Image(make(swapped)), Image(TZYX[0].astype(np.uint16))], 0)
    assert source.frames.dtype == source.frames[0].dtype == np.uint16
    assert source.frames[0].dtype.isnative
    np.testing.assert_array_equal(source.frames[:][..., 0], TZYX[0])
    alone = from_stacks([Image(make(swapped))], 0).frames
    np.testing.assert_array_equal(pf.fuse(alone).image, pf.fuse(TZYX[0].astype(np.uint16)).image)


def test_finest_level_of_a_multiscale_layer_is_used():
    levels = [TZYX[0], TZYX[0, :, ::2, ::2]]
    np.testing.assert_array_equal(from_stacks([Image(levels, multiscale=True)], 0).frames[:], TZYX[0])


def test_rectangle_of_a_lazy_layer_reads_only_its_chunks():
    read = []

    def block(block_info=None):
        read.append(block_info[None]["chunk-location"])
        return np.zeros(block_info[None]["chunk-shape"], np.uint8)

    lazy = da.map_blocks(block, chunks=((1,) * 5, (8, 8), (8, 8)), dtype=np.uint8, meta=np.empty(0, np.uint8))
    source = from_stacks([Image(lazy, contrast_limits=(0, 255))], 0)
    assert not source.in_memory
    read.clear()
    source.frames[3, slice(0, 8), slice(8, 16)]
    assert read == [(3, 0, 1)]


def test_values_of_lazy_floats_are_not_read(monkeypatch):
    def looked(frames, k):
        raise AssertionError("values are looked at, which takes seconds of a large layer")

    monkeypatch.setattr("panfocus._checks.largest_magnitude", looked)
    lazy = da.zeros((3, 100_000, 100_000), chunks=(1, 4096, 4096), dtype=np.float32)
    layer = Image(lazy, contrast_limits=(0, 1), visible=False)
    assert from_stacks([layer], 0).frames.shape == lazy.shape


def test_unreadable_slice_is_named():
    burning = False  # while napari makes its thumbnail

    def broken(block):
        if burning:
            raise OSError("disk\non fire")
        return block

    lazy = da.from_array(TZYX[0], chunks=(1, 13, 17)).map_blocks(broken, dtype=np.uint8, meta=TZYX[:0, 0, 0])
    source = from_stacks([Image(lazy, name="plate", contrast_limits=(0, 255))], 0)
    burning = True
    with pytest.raises(FileError) as caught:
        source.frames[2]
    assert caught.value.facts["file"] == "slice 2 of plate"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: from_list([Image(TZYX[0, 0])]), ""),
        (lambda: from_stacks([Image(TZYX[0, :1], name="one")], 0), "one"),
        (lambda: from_stacks([Image(TZYX[0], name="s")], 1), "s"),
        (lambda: from_stacks([Image(TZYX, axis_labels=tuple("tzyx"))], 1, 1), "z"),
        (lambda: from_stacks([Image(TZYX[0]), Image(TZYX[0, :4])], 0), "(4, 13, 17)"),
        (lambda: from_stacks([Image(TZYX.astype(np.int32), name="i")], 1), "slice 0 of i"),
        (lambda: from_list([Image(TZYX[0, 0], name="a"), Image(TZYX[0, 0, :5], name="b")]), "17 x 5"),
        (lambda: from_stacks([Image(np.zeros((3, 9, 9, 3), np.uint8), rgb=True, name="r")] * 2, 0), "r"),
    ],
)
def test_layers_that_are_no_stack_are_rejected(make, name):
    with pytest.raises(InputError) as caught:
        make()
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
