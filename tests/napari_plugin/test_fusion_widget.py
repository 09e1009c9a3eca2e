"""The widget in a real viewer: choices, settings and the layers of the result."""

import threading

import dask.array as da
import numpy as np
from banded_stack import banded_stack, inside
from qt_waiting import wait_until

import panfocus as pf
from panfocus.methods import DEFAULT_METHOD, method_names, setting_names
from panfocus.napari_plugin.widget import NO_AXIS, SELECTED, _ScrollArea

FRAMES, BANDS = banded_stack()
PLACE = {"scale": (2.5, 0.5, 0.5), "translate": (10, 3, 4), "units": "um"}


def test_stack_becomes_an_image_and_maps_at_its_position(viewer, widget, fused):
    viewer.add_image(FRAMES, name="s", **PLACE)
    layers = fused()
    assert list(layers) == [
        "s never in focus",
        "s confidence",
        "s labels",
        "s depth (µm)",
        "s surface (µm)",
        "s fused",
    ]
    expected = pf.fuse(FRAMES)
    np.testing.assert_array_equal(layers["s fused"].data, expected.image)
    np.testing.assert_array_equal(layers["s labels"].data, expected.labels + 1)
    sure = inside(BANDS)
    assert np.mean(layers["s labels"].data[sure] == BANDS[sure] + 1) > 0.99  # known by construction
    for layer in layers.values():
        np.testing.assert_allclose(layer.scale[-2:], 0.5)
        np.testing.assert_allclose(layer.translate[-2:], (3, 4))
        assert [str(unit) for unit in layer.units] == ["micrometer"] * layer.ndim
    assert (widget.fuse.enabled, widget.cancel.enabled) == (True, False)


def test_selected_2d_layers_are_frames(viewer, widget, fused):
    for k, frame in enumerate(FRAMES):
        viewer.add_image(frame, name=f"f{k}")
    viewer.layers.selection = set(viewer.layers)
    layers = fused()
    np.testing.assert_array_equal(layers["f0 labels"].data, pf.fuse(FRAMES).labels + 1)


def test_selected_layers_can_be_fused_again(viewer, widget, fused):
    for k, frame in enumerate(FRAMES):
        viewer.add_image(frame, name=f"f{k}")
    viewer.layers.selection = frames = set(viewer.layers)
    first = fused()["f0 fused"]
    assert viewer.layers.selection == frames
    np.testing.assert_array_equal(fused()["f0 fused [1]"].data, first.data)


def test_layers_of_one_fusion_share_a_number_and_a_report(viewer, widget, fused):
    viewer.add_image(np.stack(FRAMES), name="s")
    for method in ("panfocus", "pca", "panfocus"):  # pca gives no maps
        widget.method.value = method
        layers = fused()
    assert "s fused [1]" in viewer.layers and "s labels [1]" not in viewer.layers
    of_the_last = [layers[f"s {kind} [2]"] for kind in ("fused", "labels", "confidence", "never in focus")]
    assert all(layer.metadata["panfocus"]["method"] == "panfocus" for layer in of_the_last)


def test_chosen_axes_stay_after_a_fusion(viewer, widget, fused):
    stack = viewer.add_image(np.stack([FRAMES, FRAMES], axis=1), name="s")
    widget.frames.value = SELECTED
    widget.focus_axis.value = 0
    assert "s axis -3=0 fused" in fused()
    assert (viewer.layers.selection.active, widget.focus_axis.value) == (stack, 0)


def test_lazy_stack_is_read_once_slice_by_slice(viewer, widget, fused):
    at_once, most, reads = 0, 0, []
    lock = threading.Lock()

    def read(block, block_info=None):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
            reads.append(block_info[0]["chunk-location"][0])
        block = block.copy()
        with lock:
            at_once -= 1
        return block

    lazy = da.from_array(FRAMES, chunks=(1, -1, -1)).map_blocks(read, dtype=np.uint8, meta=FRAMES[:0])
    viewer.add_image(lazy, name="lazy", contrast_limits=(0, 255), cache=False)
    viewer.layers[0].visible = False  # napari reads what it shows
    reads.clear()
    most = 0
    layers = fused()
    assert (sorted(reads), most) == ([0, 1, 2], 1)
    expected = pf.fuse(FRAMES)
    np.testing.assert_array_equal(layers["lazy fused"].data, expected.image)
    np.testing.assert_array_equal(layers["lazy confidence"].data, expected.confidence)


def test_drifted_frames_are_aligned(viewer, widget, fused):
    large, _ = banded_stack(height=140)
    drifted = np.stack([frame[4 * k : 120 + 4 * k, 8:-8] for k, frame in enumerate(large)])
    viewer.add_image(drifted, name="s", **PLACE | {"units": "mm"})  # a photograph: all models are tried
    image = fused()["s fused"]
    moved = pf.align(drifted)
    assert moved.model != "none"
    assert image.data.shape == drifted.shape[1:]
    np.testing.assert_allclose(image.translate, (3, 4))
    assert image.metadata["panfocus"]["alignment"]["model"] == moved.model
    assert len(widget.message.value.splitlines()) == 1 + len(
        moved.notices([f"slice {k} of s" for k in range(len(drifted))])
    )
    widget.fusion_options["align"].value = "off"
    assert fused()["s fused [1]"].data.shape == drifted.shape[1:]


def test_selected_stacks_are_channels_that_are_fused_separately(viewer, widget, fused):
    other, _ = banded_stack(seed=1)
    viewer.add_image(FRAMES, name="g")
    viewer.add_image(other[::-1], name="r")  # sharp in other slices
    widget.frames.value = SELECTED
    viewer.layers.selection = set(viewer.layers)
    layers = fused()
    np.testing.assert_array_equal(layers["g fused"].data, pf.fuse(FRAMES).image)
    np.testing.assert_array_equal(layers["r fused"].data, pf.fuse(other[::-1]).image)


def test_selected_stacks_may_share_one_decision(viewer, widget, fused):
    other, _ = banded_stack(seed=1)
    viewer.add_image(FRAMES, name="g", colormap="green")
    viewer.add_image(other, name="r", colormap="red")
    widget.frames.value = SELECTED
    viewer.layers.selection = set(viewer.layers)
    widget.settings["composition"].value = "labels"
    widget.fusion_options["decide_channels"].value = "together"
    layers = fused()
    labels = layers["g labels"].data[None] - 1
    for name, stack in (("g", FRAMES), ("r", other)):
        np.testing.assert_array_equal(
            layers[f"{name} fused"].data, np.take_along_axis(stack, labels, 0)[0]
        )  # copied from the frame that both share
        assert layers[f"{name} fused"].colormap.name == viewer.layers[name].colormap.name


def test_fused_layers_are_hidden_below_their_result(viewer, widget, fused):
    other, _ = banded_stack(seed=1)
    stacks = [
        viewer.add_image(stack, name=name, colormap=colour, blending="additive")
        for stack, name, colour in ((FRAMES, "g", "green"), (other, "r", "magenta"))
    ]
    aside = viewer.add_image(FRAMES[0], name="aside", translate=(0, 300))
    widget.frames.value = SELECTED
    viewer.layers.selection = set(stacks)

    def visible():
        return {layer.name for layer in viewer.layers if layer.visible}

    fused()
    assert visible() == {"aside", "g fused", "r fused"}
    fused()
    assert visible() == {"aside", "g fused [1]", "r fused [1]"}
    viewer.layers.selection = {*stacks, viewer.layers["g fused [1]"], viewer.layers["r fused [1]"]}
    viewer.layers.toggle_selected_visibility()  # the key V of the docs
    assert visible() == {"aside", "g", "r"}
    assert aside.visible


def test_current_time_point_is_fused(viewer, widget, fused):
    viewer.add_image(np.stack([FRAMES[::-1], FRAMES]), name="s", axis_labels=("t", "z", "y", "x"))
    viewer.dims.set_current_step(0, 1)
    assert (widget.focus_axis.value, widget.channel_axis.value) == (1, NO_AXIS)
    layers = fused()
    assert all(name.startswith("s t=1 ") for name in layers)
    picture = layers["s t=1 fused"]
    np.testing.assert_array_equal(picture.data, pf.fuse(FRAMES).image)
    assert picture.metadata["panfocus"]["position"] == {"t": 1}
    assert "t = 1" in widget.message.value.splitlines()[-1]


def stack_with_channels_behind_z(viewer):
    units = ("s", "um", "pixel", "um", "um")
    data = np.stack([np.stack([FRAMES, FRAMES], axis=1)] * 2)
    return viewer.add_image(data, name="s", axis_labels=tuple("tzcyx"), scale=(1, 40, 1, 1, 1), units=units)


def test_3d_view_shows_the_surface_along_the_focus_axis(viewer, widget, fused):
    stack = stack_with_channels_behind_z(viewer)
    dims, ranges, units = viewer.dims, viewer.dims.range, viewer.dims.units
    surface = fused()["s t=0 surface (µm)"]
    assert dims.displayed == (3, 4)  # the flat view is as it was
    assert (dims.range, dims.units) == (ranges, units)
    dims.ndisplay = 3
    assert [dims.axis_labels[axis] for axis in dims.displayed] == ["z", "y", "x"]
    stack.visible = viewer.layers["s channel 0 t=0 fused"].visible = False
    viewer.layers["s channel 1 t=0 fused"].visible = False
    black = viewer.screenshot(flash=False)[..., :3].any(axis=-1).mean()
    surface.visible = True
    for channel in (0, 1):
        dims.set_current_step(2, channel)
        assert viewer.screenshot(flash=False)[..., :3].any(axis=-1).mean() > black + 0.01


def test_rolled_axes_stay(viewer, widget, fused):
    stack_with_channels_behind_z(viewer)
    viewer.dims.order = rolled = (4, 0, 1, 2, 3)
    fused()
    assert viewer.dims.order == rolled


def test_axes_named_later_are_noticed(viewer, widget):
    layer = viewer.add_image(np.stack([FRAMES, FRAMES], axis=1), name="s")
    assert (widget.focus_axis.value, widget.channel_axis.value) == (1, NO_AXIS)
    layer.axis_labels = ("z", "c", "y", "x")
    assert (widget.focus_axis.value, widget.channel_axis.value) == (0, 1)
    assert widget.focus_axis.choices == (0, 1)


def test_axes_of_new_data_are_noticed(viewer, widget, fused):
    layer = viewer.add_image(np.stack([FRAMES, FRAMES]), name="s")
    widget.focus_axis.value = 0
    layer.data = np.stack([FRAMES] * 3)
    assert (widget.focus_axis.value, widget.focus_axis.current_choice) == (
        0,
        "axis -4 (3)",
    )  # still as chosen
    layer.data = FRAMES
    assert (widget.focus_axis.choices, widget.focus_axis.current_choice) == ((0,), "axis -3 (3)")
    assert not widget.channel_axis.visible
    np.testing.assert_array_equal(fused()["s fused"].data, pf.fuse(FRAMES).image)
    layer.visible = True  # napari fails if hidden data get more axes
    layer.data = np.stack([FRAMES, FRAMES])
    assert (widget.focus_axis.choices, widget.focus_axis.value) == ((0, 1), 1)
    assert widget.channel_axis.visible


def test_only_stacks_are_offered(viewer, widget):
    layer = viewer.add_image(FRAMES[0], name="s")
    assert widget.frames.choices == (SELECTED,)
    layer.data = FRAMES
    assert (widget.frames.choices, widget.frames.value) == ((SELECTED, layer), layer)
    layer.data = FRAMES[0]
    assert (widget.frames.choices, widget.frames.value) == ((SELECTED,), SELECTED)


def test_renamed_stack_stays_chosen(viewer, widget, fused):
    stack = viewer.add_image(np.stack([FRAMES, FRAMES], axis=1), name="s")
    viewer.add_image(FRAMES[::-1], name="other")  # which is selected
    widget.focus_axis.value = 0
    stack.name = "r"
    assert (widget.frames.value, widget.frames.current_choice) == (stack, "r")
    assert widget.focus_axis.value == 0
    assert "r axis -3=0 fused" in fused()


def test_selected_layers_are_chosen_when_the_stack_is_removed(viewer, widget):
    stack = viewer.add_image(np.stack([FRAMES, FRAMES]), name="s")
    viewer.add_image(FRAMES, name="other")
    viewer.layers.remove(stack)
    assert widget.frames.value == SELECTED
    assert widget.focus_axis.choices == (0,)


def test_sample_is_a_colour_stack(viewer, widget, fused):
    (layer,) = viewer.open_sample("panfocus", "sample")
    assert layer.rgb
    assert layer.data.shape[0] == 3
    widget.fusion_options["align"].value = "off"
    picture = fused()["panfocus sample fused"]
    assert picture.rgb
    np.testing.assert_array_equal(picture.data, pf.fuse(layer.data).image)


def test_settings_of_the_method_are_used(viewer, widget, fused):
    assert widget.method.value == DEFAULT_METHOD
    for name in method_names():
        widget.method.value = name
        assert list(widget.settings.values) == setting_names(name)
    widget.method.value = "dwt"
    widget.settings["levels"].value = "2"
    viewer.add_image(FRAMES, name="s")
    picture = fused()["s fused"]
    np.testing.assert_array_equal(picture.data, pf.fuse(FRAMES, "dwt", levels=2).image)
    assert picture.metadata["panfocus"]["settings"]["levels"] == 2


def test_errors_are_one_line_without_a_traceback(viewer, widget, fused, notified):
    def wrong():
        before = len(notified())
        assert fused() == {}
        (note,) = notified()[before:]
        assert note.severity.value == "error"
        assert not hasattr(note, "exception")
        assert "\n" not in note.message
        return note.message

    wrong()  # nothing is selected
    viewer.add_image(FRAMES.astype(np.int32), name="ints")
    assert "slice 0 of ints" in wrong()
    viewer.add_image(FRAMES, name="s")
    widget.frames.value = viewer.layers["s"]
    widget.method.value = "coupled"
    widget.settings["w"].value = "much"
    assert "much" in wrong()
    widget.settings["w"].value = "2"
    assert "0.5" in wrong()  # raised by the method in the other thread
    widget.method.value = DEFAULT_METHOD
    broken = np.full(FRAMES.shape, np.nan, np.float32)
    viewer.add_image(broken, name="nan", contrast_limits=(0, 1))
    widget.frames.value = viewer.layers["nan"]
    assert "slice 0 of nan" in wrong()


def test_form_scrolls_in_a_low_dock(viewer, widget):
    scrolled = widget.native.findChild(_ScrollArea)

    def is_whole():
        hidden = not scrolled.verticalScrollBar().isVisible()
        return hidden and scrolled.height() == scrolled.sizeHint().height()

    for name in ("coupled", "pca", DEFAULT_METHOD):
        widget.method.value = name
        wait_until(is_whole, seconds=60)
    widget._set_message("much is said\n" * 99)
    assert widget.native.minimumSizeHint().height() < 400
    widget.native.window().resize(900, 600)
    wait_until(scrolled.verticalScrollBar().isVisible, seconds=60)
    assert widget.fuse.native.visibleRegion().boundingRect() == widget.fuse.native.rect()
    assert scrolled.widget().width() >= scrolled.widget().minimumSizeHint().width()
    widget.native.window().resize(1300, 900)
