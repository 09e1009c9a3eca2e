"""Position and appearance of the layers of a result."""

import numpy as np
import pytest
from napari.layers import Image, Layer

from panfocus.napari_plugin.layer_frames import from_list, from_stacks
from panfocus.napari_plugin.result_layers import MAX_VERTICES, layers_of
from panfocus.result import FusionResult

DEPTH = np.linspace(0, 4, 10 * 12, dtype=np.float32).reshape(10, 12)
RESULT = FusionResult(
    np.zeros((10, 12), np.uint8),
    np.rint(DEPTH).astype(np.uint8),
    DEPTH / 4,
    DEPTH,
    DEPTH > 3,
    report={"a": 1},
)


def shown(source, result=RESULT):
    layers = [Layer.create(*data) for data in layers_of(result, source)]
    return {layer.name: layer for layer in layers}


def layer(shape=(5, 13, 17), **more):
    return Image(np.zeros(shape, np.uint8), name="s", **more)


def test_layers_have_the_position_of_a_rotated_source():
    like = layer(
        scale=(2.5, 0.5, 0.25),
        translate=(10, 3, 4),
        units="um",
        rotate=[30, 0, 0],
        affine=np.diag([1, 2, 2, 1]),
    )
    layers = shown(from_stacks([like], 0))
    assert len(layers) == 6
    for one in layers.values():
        assert [str(unit) for unit in one.units] == ["micrometer"] * one.ndim
        point = [0] * (one.ndim - 2) + [1, 4]
        np.testing.assert_allclose(one.data_to_world(point)[-2:], like.data_to_world((0, 1, 4))[-2:])


def test_depth_starts_at_the_first_slice_and_the_surface_lies_on_the_slices():
    layers = shown(from_stacks([layer(scale=(2.5, 1, 1), translate=(10, 0, 0), units="um")], 0))
    np.testing.assert_allclose(layers["s depth (µm)"].data, 2.5 * DEPTH, rtol=1e-6)
    surface = layers["s surface (µm)"]
    corners = [surface.data_to_world(vertex) for vertex in surface.vertices]
    np.testing.assert_allclose([corner[0] for corner in corners], 10 + 2.5 * DEPTH.ravel(), rtol=1e-6)
    np.testing.assert_allclose(surface.vertex_values, 2.5 * DEPTH.ravel(), rtol=1e-6)


@pytest.mark.parametrize("unit", ["um", "micron", "micrometer"])
def test_unit_symbol_does_not_depend_on_its_name(unit):
    assert {"s depth (µm)", "s surface (µm)"} <= shown(from_stacks([layer(units=unit)], 0)).keys()


def test_mesh_has_two_triangles_per_square():
    surface = shown(from_stacks([layer()], 0))["s surface (pixel)"]
    triangles = surface.vertices[surface.faces][..., -2:]
    assert len(triangles) == 2 * 9 * 11
    (ay, ax), (by, bx) = (triangles[:, k].T - triangles[:, 0].T for k in (1, 2))
    np.testing.assert_allclose(np.abs(ay * bx - ax * by) / 2, 0.5)  # each has half a square's area


def test_mesh_of_a_large_image_is_coarser():
    side = 1200
    result = FusionResult(np.zeros((side, side), np.uint8), depth=np.ones((side, side), np.float32))
    surface = shown(from_stacks([layer((3, side, side))], 0), result)["s surface (pixel)"]
    assert (
        len(surface.vertices) == (side // 3) ** 2 <= MAX_VERTICES
    )  # every third pixel: every second would be too many
    assert surface.vertices[:, 1:].max() == side - 3


def test_surface_with_channels_after_the_focus_axis():
    like = layer((5, 2, 13, 17), scale=(2, 1, 0.5, 0.5))
    result = FusionResult(np.zeros((10, 12, 3), np.uint8), depth=DEPTH)
    surface = shown(from_stacks([like], 0, 1), result)["s surface (pixel)"]
    np.testing.assert_allclose(surface.scale, (2, 1, 0.5, 0.5))
    for channel in (0, 1):  # there is one at each
        of_channel = surface.vertices[surface.vertices[:, 1] == channel]
        np.testing.assert_allclose(of_channel[:, 0], DEPTH.ravel())
    assert all(len(set(corners)) == 1 for corners in surface.vertices[surface.faces][..., 1])


def test_channels_keep_their_appearance():
    alike = {"blending": "additive", "opacity": 0.7, "interpolation2d": "cubic", "interpolation3d": "nearest"}
    stacks = [
        layer(colormap=colour, contrast_limits=(0, top), **alike)
        for colour, top in (("green", 99), ("red", 50))
    ]
    image = np.stack([np.full((10, 12), value, np.uint8) for value in (7, 8, 0)], axis=-1)
    pictures = layers_of(FusionResult(image), from_stacks(stacks, 0))
    assert [int(data.max()) for data, *_ in pictures] == [7, 8]
    assert [about["colormap"].name for _, about, _ in pictures] == ["green", "red"]
    assert [about["contrast_limits"] for _, about, _ in pictures] == [[0, 99], [0, 50]]
    for picture in (Layer.create(*data) for data in pictures):
        assert {look: getattr(picture, look) for look in alike} == alike


def test_list_of_layers_has_depth_in_frames_and_no_surface():
    flat = [Image(np.zeros((10, 12), np.uint8), name=f"f{k}", scale=(0.5, 0.5)) for k in range(5)]
    layers = shown(from_list(flat))
    assert list(layers) == [
        "f0 never in focus",
        "f0 confidence",
        "f0 labels",
        "f0 depth (frames)",
        "f0 fused",
    ]
    np.testing.assert_array_equal(layers["f0 labels"].data, np.rint(DEPTH) + 1)
    assert all(layer.metadata == {"panfocus": {"a": 1}} for layer in layers.values())
