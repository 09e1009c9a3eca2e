"""Microscopy TIFFs of OME and ImageJ, compared with tifffile."""

import numpy as np
import pytest
import tifffile

from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import write_files
from panfocus.io.encode import check_format, describe_losses, encode_confidence, encode_depth, write_image
from panfocus.io.headers import check_headers, read_headers, read_metadata
from panfocus.io.ome_xml import read_imagej, read_ome
from panfocus.io.read_stack import read_image, read_into, read_stack
from panfocus.io.tiled_tiff import read_tiled_tiff
from rejections import rejected

OME = {"ome": True, "photometric": "minisblack"}
PIXELS = {"PhysicalSizeX": 0.325, "PhysicalSizeY": 0.65, "PhysicalSizeZ": 2.0, "PhysicalSizeXUnit": "µm"}


def hyperstack(path, rng, axes, shape, **options):
    data = rng.integers(0, 4096, (*shape, 13, 17), dtype=np.uint16)
    metadata = {"axes": axes, **options.pop("metadata", {})}
    tifffile.imwrite(path, data, metadata=metadata, **options)
    return data


@pytest.mark.parametrize("options", [{"imagej": True}, OME], ids=["imagej", "ome"])
@pytest.mark.parametrize("channels", [2, 3, 4, 5])
def test_channels_of_a_slice_are_one_frame(tmp_path, rng, options, channels):
    data = hyperstack(tmp_path / "stack.tif", rng, "ZCYX", (3, channels), **options)
    stack = read_stack([tmp_path / "stack.tif"])
    # Of 2 and 4 channels the last would count as alpha: a blank one is added, and not written.
    assert stack.frames.shape == (3, 13, 17, channels + (channels in (2, 4)))
    np.testing.assert_array_equal(stack.frames[..., :channels], np.moveaxis(data, 1, 3))
    assert not stack.frames[..., channels:].any()
    write_image(tmp_path / "fused.tif", stack.frames[1], like=stack)
    with tifffile.TiffFile(tmp_path / "fused.tif") as written:
        assert written.series[0].axes == "CYX"
        np.testing.assert_array_equal(written.asarray(), data[1])
    again = read_stack([tmp_path / "fused.tif"] * 2)
    np.testing.assert_array_equal(again.frames[0], stack.frames[1])


@pytest.mark.parametrize("order", ["ZCYX", "CZYX"])
def test_the_order_of_pages_is_read_from_the_description(tmp_path, rng, order):
    shape = tuple({"Z": 3, "C": 2}[axis] for axis in order[:2])
    data = hyperstack(tmp_path / "stack.ome.tif", rng, order, shape, **OME)
    frames = read_stack([tmp_path / "stack.ome.tif"]).frames[..., :2]
    np.testing.assert_array_equal(frames, np.moveaxis(data, order.index("C"), 3))


@pytest.mark.parametrize("options", [{"imagej": True}, OME], ids=["imagej", "ome"])
def test_one_channel_and_one_time_are_chosen_by_number(tmp_path, rng, options):
    path = tmp_path / "stack.tif"
    data = hyperstack(path, rng, "TZCYX", (2, 3, 4), **options)
    headers = read_headers([path], channel=3, time=2)
    check_headers(headers)
    frames = read_into(np.empty((3, 13, 17), np.uint16), headers).frames
    np.testing.assert_array_equal(frames, data[1, :, 2])
    for wrong, facts in (
        ({}, {"setting": "time"}),
        ({"channel": 5, "time": 1}, {"setting": "channel", "got": 5}),
        ({"time": 3}, {"setting": "time", "got": 3}),
    ):
        with rejected(path, **facts):
            read_headers([path], **wrong)


def test_ome_names_and_sizes_are_preserved(tmp_path, rng):
    metadata = {
        **PIXELS,
        "PhysicalSizeYUnit": "µm",
        "PhysicalSizeZUnit": "µm",
        "Channel": {"Name": ["DAPI", "a<b&c"]},
    }
    hyperstack(tmp_path / "stack.ome.tif", rng, "ZCYX", (3, 2), metadata=metadata, **OME)
    stack = read_stack([tmp_path / "stack.ome.tif"])
    found = stack.metadata.acquisition
    assert found.channels == ("DAPI", "a<b&c")
    assert (found.pixel_width, found.pixel_height, found.step, found.unit) == (0.325, 0.65, 2.0, "µm")
    write_image(tmp_path / "fused.ome.tif", stack.frames[0], like=stack)
    with tifffile.TiffFile(tmp_path / "fused.ome.tif") as written:
        (image,) = [tifffile.xml2dict(written.ome_metadata)["OME"]["Image"]]
    pixels = image["Pixels"]
    assert (pixels["PhysicalSizeX"], pixels["PhysicalSizeY"], pixels["PhysicalSizeXUnit"]) == (
        0.325,
        0.65,
        "µm",
    )
    assert [channel["Name"] for channel in pixels["Channel"]] == ["DAPI", "a<b&c"]
    again = read_stack([tmp_path / "fused.ome.tif"] * 2).metadata.acquisition
    assert (again.channels, again.pixel_width, again.unit) == (found.channels, 0.325, "µm")


def test_fused_ome_tiff_keeps_image_name_colours_and_wavelengths(tmp_path, rng):
    channel = {
        "Name": ["DAPI", "GFP"],
        "Color": [65535, 16711935],
        "EmissionWavelength": [461.0, 509.0],
        "EmissionWavelengthUnit": ["nm", "nm"],
        "Fluor": ["DAPI", "EGFP"],
    }
    metadata = {**PIXELS, "Name": "embryo 3", "Channel": channel}
    hyperstack(tmp_path / "stack.ome.tif", rng, "ZCYX", (3, 2), metadata=metadata, **OME)
    stack = read_stack(tmp_path / "stack.ome.tif")
    write_image(tmp_path / "fused.ome.tif", stack.frames[0], like=stack)
    with tifffile.TiffFile(tmp_path / "fused.ome.tif") as written:
        image = tifffile.xml2dict(written.ome_metadata)["OME"]["Image"]
    assert image["Name"] == "embryo 3"
    for key, values in channel.items():
        assert [each[key] for each in image["Pixels"]["Channel"]] == values
    assert describe_losses(tmp_path / "fused.ome.tif", stack) == []
    assert len(describe_losses(tmp_path / "fused.png", stack)) == 1


@pytest.mark.parametrize("kind", ["depth", "confidence"])
def test_map_in_an_ome_tiff_has_name_and_pixel_sizes(tmp_path, rng, kind):
    hyperstack(
        tmp_path / "stack.ome.tif", rng, "ZCYX", (3, 2), metadata={**PIXELS, "Name": "embryo 3"}, **OME
    )
    stack = read_stack(tmp_path / "stack.ome.tif")
    path, values = tmp_path / "map.ome.tif", rng.random((13, 17), np.float32)
    if kind == "depth":
        content = encode_depth(path, values, step=2.0, unit="um", level=1.0, like=stack)
    else:
        content = encode_confidence(path, values, like=stack)
    write_files({path: content})
    with tifffile.TiffFile(path) as written:
        image = tifffile.xml2dict(written.ome_metadata)["OME"]["Image"]
        np.testing.assert_array_equal(written.asarray(), values * (2 if kind == "depth" else 1))
    assert image["Name"] == f"embryo 3 {kind}"
    assert (image["Pixels"]["PhysicalSizeX"], image["Pixels"]["PhysicalSizeY"]) == (0.325, 0.65)


def test_imagej_sizes_are_preserved(tmp_path, rng):
    hyperstack(
        *(tmp_path / "stack.tif", rng, "ZYX", (3,)),
        imagej=True,
        resolution=(1 / 0.25, 1 / 0.5),
        metadata={"unit": "um", "spacing": 3.0},
    )
    stack = read_stack([tmp_path / "stack.tif"])
    found = stack.metadata.acquisition
    assert (found.pixel_width, found.pixel_height, found.step, found.unit) == (0.25, 0.5, 3.0, "µm")
    write_image(tmp_path / "fused.tif", stack.frames[0], like=stack)
    with tifffile.TiffFile(tmp_path / "fused.tif") as written:
        assert 'PhysicalSizeX="0.25"' in written.ome_metadata
        assert written.pages[0].tags["XResolution"].value == (4, 1)
    assert describe_losses(tmp_path / "fused.tif", stack) == []
    assert "pixel size" in describe_losses(tmp_path / "fused.png", stack)[0]


@pytest.mark.parametrize(("unit", "written"), [("inch", "in"), ("furlong", "reference frame")])
def test_imagej_units_are_converted_to_ome_or_reported_as_lost(tmp_path, rng, unit, written):
    hyperstack(
        tmp_path / "stack.tif", rng, "ZYX", (3,), imagej=True, resolution=(4, 4), metadata={"unit": unit}
    )
    stack = read_stack([tmp_path / "stack.tif"])
    write_image(tmp_path / "fused.tif", stack.frames[0], like=stack)
    with tifffile.TiffFile(tmp_path / "fused.tif") as tiff:
        assert f'PhysicalSizeX="0.25" PhysicalSizeXUnit="{written}"' in tiff.ome_metadata
    said = describe_losses(tmp_path / "fused.tif", stack)
    assert ["furlong" in line for line in said] == [True] * (unit == "furlong")


def test_channels_need_a_tiff(tmp_path, rng):
    hyperstack(tmp_path / "stack.tif", rng, "ZCYX", (3, 2), **OME)
    header = read_headers([tmp_path / "stack.tif"])[0]
    with rejected(tmp_path / "fused.png", InputError, got=2):
        check_format(tmp_path / "fused.png", header.frame.image, read_metadata(header))


def test_channels_in_colour_are_rejected(tmp_path, rng):
    pixels = rng.integers(0, 255, (2, 2, 13, 17, 3), np.uint8)
    metadata = {"axes": "ZCYXS"}
    tifffile.imwrite(tmp_path / "a.ome.tif", pixels, photometric="rgb", metadata=metadata)
    with rejected(tmp_path / "a.ome.tif", problem="channels"):
        read_headers([tmp_path / "a.ome.tif"])


def test_ome_colour_image_stays_in_colour(tmp_path, rng):
    frames = rng.integers(0, 256, (2, 13, 17, 3), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "a.ome.tif", frames, photometric="rgb", ome=True, metadata={"axes": "ZYXS"})
    stack = read_stack([tmp_path / "a.ome.tif"])
    write_image(tmp_path / "fused.tif", stack.frames[0], like=stack)
    np.testing.assert_array_equal(tifffile.imread(tmp_path / "fused.tif"), frames[0])
    np.testing.assert_array_equal(read_image(tmp_path / "fused.tif"), frames[0])


XML = '<OME><Image><Pixels SizeC="2" SizeZ="2" SizeT="1" DimensionOrder="XYZCT">{}</Pixels></Image></OME>'


def test_pages_may_be_listed_one_by_one():
    listed = "".join(
        f'<TiffData IFD="{page}" FirstZ="{z}" FirstC="{c}" PlaneCount="1"/>'
        for page, (z, c) in enumerate([(1, 1), (0, 1), (1, 0), (0, 0)])
    )
    for xml, pages in (
        (XML.format(listed), [(3, 1), (2, 0)]),
        (XML.format(""), [(0, 2), (1, 3)]),  # the slice counts fastest
        (XML.format("").replace("XYZCT", "XYCZT"), [(0, 1), (2, 3)]),
    ):
        assert read_ome(xml, [1] * 4).select(None, None)[0] == pages


@pytest.mark.parametrize(
    ("xml", "facts"),
    [
        (XML.replace('SizeZ="2"', 'SizeZ="900"').format(""), {"needed": 1800, "got": 4}),
        (XML.replace('SizeZ="2"', 'SizeZ="99999999999999"').format(""), {"got": "99999999999999"}),
        (XML.replace('SizeZ="2"', 'SizeZ="-3"').format(""), {"got": "-3"}),
        (XML.format('<TiffData IFD="7"/>'), {"slice": 1, "channel": 1}),
        (XML.format("").replace("<OME>", "<OME><Image><Pixels SizeZ='1'/></Image>"), {"problem": "pages"}),
        (XML.format("").replace("<Pixels", "<Pixels SizeZ='1'/><Pixels"), {"got": 2}),
        ("<OME/>", {"got": 0}),
        ('<!DOCTYPE a [<!ENTITY b "c">]><OME>&b;</OME>', {"problem": "doctype"}),
    ],
)
def test_wrong_ome_xml_is_rejected(xml, facts):
    with pytest.raises(FileError) as caught:
        read_ome(xml, [1] * 4)
    assert caught.value.facts == facts


def slide(path, rng, *, reduced=False, slices=(1, 3, 1)):
    """Write images of one channel, or the first in colour, as scanners add labels; return their pixels."""
    shapes = [(slices[0], 9, 11, 3), (slices[1], 13, 17), (slices[2], 8, 8)]
    pixels = [rng.integers(0, 255, shape, np.uint8) for shape in shapes]
    with tifffile.TiffWriter(path, ome=True) as tiff:
        for name, each in zip(("label", "wing", ""), pixels, strict=True):
            tiff.write(
                each,
                photometric="rgb" if each.ndim == 4 else "minisblack",
                subfiletype=1 if name == "label" and reduced else 0,
                metadata={"axes": "ZYXS"[: each.ndim], "Name": name, "PhysicalSizeX": len(name) + 1.0},
            )
    return pixels


@pytest.mark.parametrize("reduced", [False, True])
def test_only_stack_among_several_images_is_read(tmp_path, rng, reduced):
    _, wing, _ = slide(tmp_path / "slide.ome.tif", rng, reduced=reduced)
    said = "(label, image 3)"
    stack = read_stack([tmp_path / "slide.ome.tif"])
    np.testing.assert_array_equal(stack.frames, wing)
    assert stack.metadata.acquisition.pixel_width == 5.0
    assert said in describe_losses(tmp_path / "out.tif", stack)[0]
    image = read_tiled_tiff(tmp_path / "slide.ome.tif")
    assert (image.name, image.shape) == ("wing", (3, 13, 17))
    assert said in image.notices[0]
    np.testing.assert_array_equal(image.frames(0, [0])[:], wing)


@pytest.mark.parametrize("slices", [(1, 3, 2), (1, 1, 1)])
def test_several_stacks_in_a_file_or_none_are_rejected(tmp_path, rng, slices):
    slide(tmp_path / "slide.ome.tif", rng, slices=slices)
    for read in (lambda path: read_stack([path]), read_tiled_tiff):
        with rejected(tmp_path / "slide.ome.tif", got=3):
            read(tmp_path / "slide.ome.tif")


def test_an_imagej_stack_with_one_page_for_all_slices_is_rejected():
    """So it writes stacks of more than 4 GB: the pixels of the others follow without tags."""
    with pytest.raises(FileError) as caught:
        read_imagej({"images": 300, "slices": 300}, 1, None)
    assert caught.value.facts == {"needed": 300, "got": 1}
