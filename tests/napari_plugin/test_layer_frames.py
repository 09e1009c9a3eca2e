"""What is read of layers, and how it is refused."""

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


def test_slices_are_taken_along_the_chosen_axis_where_the_others_stand():
    layer = Image(TZYX)
    np.testing.assert_array_equal(from_stacks([layer], 1, position=[1, 0]).frames[:], TZYX[1])
    np.testing.assert_array_equal(from_stacks([layer], 0, position=[0, 3]).frames[:], TZYX[:, 3])


@pytest.mark.parametrize("labels", ["zyxc", "tyxz", "yxcz", "xyzt"])
def test_a_stack_whose_pictures_lie_in_other_axes_than_the_last_is_refused(labels):
    layer = Image(TZYX, name="a", axis_labels=tuple(labels))
    message = rf"^a has the axes {', '.join(labels)}; those of the picture have to be the last two: "
    with pytest.raises(InputError, match=message):
        from_stacks([layer], 0)


@pytest.mark.parametrize("labels", ["tzyx", "czyx", "zcyx", "TZYX", "abde"])
def test_a_stack_whose_pictures_lie_in_the_last_axes_is_taken(labels):
    assert len(from_stacks([Image(TZYX, axis_labels=tuple(labels))], 0).frames) == 2


@pytest.mark.parametrize(
    ("placed", "told"),
    [
        ({}, False),
        ({"translate": (0, 0.4)}, False),  # less than half a pixel
        ({"translate": (0, 40)}, True),
        ({"scale": (2, 2)}, True),
        ({"rotate": 30}, True),
        ({"units": ("um", "um")}, True),
    ],
)
def test_layers_that_lie_elsewhere_are_told(placed, told):
    layers = [Image(TZYX[0, 0], name="a"), Image(TZYX[0, 1], name="b", **placed)]
    said = "b lies elsewhere than a in the viewer: fused pixel by pixel all the same"
    assert from_list(layers).notices == ((said,) if told else ())


def test_stacks_that_lie_elsewhere_are_told_and_axes_without_a_name_as_at_their_sliders():
    layers = [Image(TZYX, name="a"), Image(TZYX, name="b", translate=(0, 0, 3, 0))]
    elsewhere, chosen = from_stacks(layers, 1, position=[1, 0]).notices
    assert elsewhere.startswith("b lies elsewhere than a")
    assert chosen == "only axis -4 = 1 (of 0 to 1), where its slider stands"


def test_a_frame_of_several_layers_has_the_names_of_all():
    assert from_stacks([Image(TZYX[0], name=name) for name in "ab"], 0).names[1] == "slice 1 of a and b"


def test_rgb_keeps_its_colours():
    colour = RNG.integers(0, 256, (4, 13, 17, 3), np.uint8)
    source = from_stacks([Image(colour, rgb=True)], 0)
    np.testing.assert_array_equal(source.frames[1:3, 2:5, 4:9], colour[1:3, 2:5, 4:9])


def test_three_channels_on_an_axis_are_those_of_each_frame():
    czyx = RNG.integers(0, 256, (3, 5, 13, 17), np.uint8)
    source = from_stacks([Image(czyx)], 1, 0)
    np.testing.assert_array_equal(source.frames[:], np.moveaxis(czyx, 0, -1))
    assert [channel.number for channel in source.channels] == [0, 1, 2]


@pytest.mark.parametrize("names", ["ab", "abc", "abcd", ["grey", "Alpha"], "rgba"], ids="-".join)
def test_channels_are_the_frames_that_a_store_of_them_has(tmp_path, names):
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


@pytest.mark.parametrize("given", [np.asarray, da.from_array], ids=["numpy", "dask"])
def test_bytes_of_another_order_are_turned(given):
    swapped = TZYX[0].astype(np.dtype(np.uint16).newbyteorder())
    source = from_stacks([Image(given(swapped)), Image(TZYX[0].astype(np.uint16))], 0)
    assert source.frames.dtype == source.frames[0].dtype == np.uint16
    assert source.frames[0].dtype.isnative
    np.testing.assert_array_equal(source.frames[:][..., 0], TZYX[0])
    alone = from_stacks([Image(given(swapped))], 0).frames
    np.testing.assert_array_equal(pf.fuse(alone).image, pf.fuse(TZYX[0].astype(np.uint16)).image)


def test_of_several_levels_the_finest_is_taken():
    levels = [TZYX[0], TZYX[0, :, ::2, ::2]]
    np.testing.assert_array_equal(from_stacks([Image(levels, multiscale=True)], 0).frames[:], TZYX[0])


def test_a_rectangle_of_a_lazy_layer_reads_its_chunks_alone():
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


def test_lazy_floats_are_taken_by_their_shape_and_type_alone(monkeypatch):
    def looked(frames, k):
        raise AssertionError("values are looked at, which takes seconds of a large layer")

    monkeypatch.setattr("panfocus._checks.largest_magnitude", looked)
    lazy = da.zeros((3, 100_000, 100_000), chunks=(1, 4096, 4096), dtype=np.float32)
    layer = Image(lazy, contrast_limits=(0, 1), visible=False)
    assert from_stacks([layer], 0).frames.shape == lazy.shape


def test_what_a_lazy_layer_cannot_read_is_one_line_with_its_name():
    burning = False  # while napari makes its thumbnail

    def broken(block):
        if burning:
            raise OSError("disk\non fire")
        return block

    lazy = da.from_array(TZYX[0], chunks=(1, 13, 17)).map_blocks(broken, dtype=np.uint8, meta=TZYX[:0, 0, 0])
    source = from_stacks([Image(lazy, name="plate", contrast_limits=(0, 255))], 0)
    burning = True
    with pytest.raises(FileError, match=r"^slice 2 of plate cannot be read: disk on fire$"):
        source.frames[2]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: from_list([Image(TZYX[0, 0])]), "two or more"),
        (lambda: from_stacks([Image(TZYX[0, :1], name="one")], 0), "one has one slice"),
        (lambda: from_stacks([Image(TZYX[0], name="s")], 1), "s has no axis 1"),
        (
            lambda: from_stacks([Image(TZYX, axis_labels=tuple("tzyx"))], 1, 1),
            "z is chosen for focus and for channels; choose two axes",
        ),
        (lambda: from_stacks([Image(TZYX[0]), Image(TZYX[0, :4])], 0), "channels of one stack"),
        (
            lambda: from_stacks([Image(TZYX.astype(np.int32), name="i")], 1),
            "slice 0 of i is int32; supported",
        ),
        (
            lambda: from_list([Image(TZYX[0, 0], name="a"), Image(TZYX[0, 0, :5], name="b")]),
            "b is 17 x 5 pixels, a is 17 x 13",
        ),
        (
            lambda: from_stacks([Image(np.zeros((3, 9, 9, 3), np.uint8), rgb=True, name="r")] * 2, 0),
            "r is RGB",
        ),
    ],
)
def test_layers_that_are_no_stack_are_refused_by_name(make, complaint):
    with pytest.raises(InputError, match=complaint) as refused:
        make()
    assert "\n" not in str(refused.value)
