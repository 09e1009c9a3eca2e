"""A running fusion in a real viewer: progress, cancelling, and closed, hidden or moved docks."""

import threading

import dask.array as da
import numpy as np
import pytest
from banded_stack import banded_stack
from numba.core.event import trigger_event
from qt_waiting import wait_until
from qtpy.QtCore import QCoreApplication, QEvent
from superqt.utils import WorkerBase

import panfocus as pf
from panfocus.napari_plugin.result_layers import layers_of
from panfocus.napari_plugin.widget import COMPILING

FRAMES, _ = banded_stack()


class Gate:
    """Frames whose second one blocks the reading thread while the gate is closed."""

    def __init__(self):
        self.closed, self.reached, self.opened = False, threading.Event(), threading.Event()
        self.reads_since_opened = 0
        gate = self

        class Gated(np.ndarray):
            def __getitem__(self, key):
                gate.reads_since_opened += gate.opened.is_set()
                first = key[0].start if isinstance(key[0], slice) else key[0]
                if gate.closed and first == 1:
                    gate.reached.set()
                    gate.opened.wait(60)
                return np.asarray(self)[key]

        self.frames = FRAMES.view(Gated)


@pytest.mark.parametrize("lazily", [False, True])
def test_progress_and_cancelling(viewer, widget, notified, lazily):
    gate = Gate()
    data = da.from_array(gate.frames, chunks=(1, -1, -1), asarray=False) if lazily else gate.frames
    viewer.add_image(data, name="s", contrast_limits=(0, 255), visible=False)
    before, gate.closed = list(viewer.layers), True
    widget.fuse.native.click()
    wait_until(gate.reached.is_set)
    assert (widget.fuse.enabled, widget.cancel.enabled) == (False, True)
    if lazily:  # one slice of three has been read
        wait_until(lambda: widget.message.value == "read" and round(widget.bar.value) == 33)
        assert widget.bar.native.maximum() == 100
    else:  # the bar is indeterminate
        wait_until(lambda: widget.bar.native.maximum() == 0)
    widget.cancel.native.click()
    wait_until(lambda: widget.message.value == "cancelling")
    gate.opened.set()
    wait_until(lambda: not widget.running)
    assert list(viewer.layers) == before
    assert (widget.message.value, widget.bar.visible) == ("cancelled", False)
    assert notified() == []
    wait_until(lambda: not WorkerBase._worker_set)  # no thread is left behind


@pytest.fixture
def waiting(viewer):
    """A widget in its dock whose fusion waits at a gate, and the gate."""
    dock, widget = open_widget(viewer)
    gate = Gate()
    viewer.add_image(gate.frames, name="s", visible=False)
    gate.closed = True
    widget.fuse.native.click()
    wait_until(gate.reached.is_set)
    yield dock, widget, gate
    gate.opened.set()
    viewer.window.remove_dock_widget("all")


def open_widget(viewer):
    return viewer.window.add_plugin_dock_widget("panfocus", "Fuse focus stack")


def open_gate(gate):
    gate.opened.set()
    wait_until(lambda: not WorkerBase._worker_set)


def test_compiling_is_shown(waiting):
    _, widget, gate = waiting
    stage = widget.message.value
    with trigger_event("numba:compile"):
        wait_until(lambda: widget.message.value == COMPILING)
    wait_until(lambda: widget.message.value == stage)
    gate.closed = False
    open_gate(gate)
    with trigger_event("numba:compile"):
        assert not widget._compiling  # for others, when nothing is fused


def test_changes_of_the_layer_during_a_fusion_do_not_affect_the_result(viewer, waiting):
    _, _, gate = waiting
    layer = viewer.layers["s"]
    layer.name, layer.colormap, layer.opacity = "another", "red", 0.5
    layer.data = np.zeros((4, 5, 6), np.uint8)
    layer.scale, layer.units, layer.axis_labels = (5, 7, 7), "mm", tuple("abc")
    gate.closed = False
    open_gate(gate)
    depth, picture = viewer.layers["s depth (pixel)"], viewer.layers["s fused"]
    np.testing.assert_array_equal(depth.data, pf.fuse(FRAMES).depth)
    np.testing.assert_allclose(picture.scale, 1)
    assert (picture.colormap.name, picture.opacity) == ("gray", 1)


def test_layers_are_made_in_a_thread_and_a_layer_that_cannot_be_shown_is_reported(
    viewer, widget, fused, notified, monkeypatch
):
    from napari.layers import Layer

    made_in = []

    def made(*of):
        made_in.append(threading.current_thread())
        return layers_of(*of)

    create = Layer.create

    def broken(data, about, kind):
        if kind == "surface":
            raise RuntimeError("no\nroom")
        return create(data, about, kind)

    monkeypatch.setattr("panfocus.napari_plugin.widget.layers_of", made)
    monkeypatch.setattr(Layer, "create", broken)
    viewer.add_image(FRAMES, name="s")
    layers = fused()
    assert threading.main_thread() not in made_in
    assert "s fused" in layers
    assert "s surface (pixel)" not in layers
    assert "s surface (pixel)" in widget.message.value.splitlines()[0]
    (note,) = notified()
    assert (note.message, hasattr(note, "exception")) == (widget.message.value.splitlines()[0], False)


def test_closed_dock_cancels_its_fusion(viewer, waiting, notified):
    dock, widget, gate = waiting
    dock.title.close_button.click()
    open_gate(gate)
    choices = widget.frames.choices
    viewer.add_image(FRAMES, name="another")
    viewer.layers.selection = {viewer.layers[0]}
    assert [layer.name for layer in viewer.layers] == ["s", "another"]
    assert widget.frames.choices == choices  # it no longer follows the viewer
    assert notified() == []


def test_widget_can_be_opened_again(viewer, waiting):
    dock, closed, gate = waiting
    dock.title.close_button.click()
    open_gate(gate)
    _, widget = open_widget(viewer)
    assert widget is not closed
    gate.closed = False
    widget.fuse.native.click()
    wait_until(lambda: not widget.running)
    assert "s fused" in viewer.layers


def test_widget_works_in_another_dock(viewer, waiting):
    dock, widget, gate = waiting
    dock.title.close_button.click()
    open_gate(gate)
    viewer.add_image(FRAMES, name="another")
    viewer.window.add_dock_widget(widget)
    assert (widget.fuse.enabled, widget.message.value) == (True, "cancelled")
    widget.frames.value = viewer.layers["another"]
    widget.fuse.native.click()
    wait_until(lambda: not widget.running)
    assert "another fused" in viewer.layers


def test_hidden_widget_continues(viewer, waiting):
    dock, widget, gate = waiting
    dock.title.hide_button.click()
    assert not dock.isVisible()
    gate.closed = False
    open_gate(gate)
    assert "s fused" in viewer.layers
    viewer.add_image(FRAMES, name="another")
    dock.show()
    assert open_widget(viewer) == (dock, widget)
    assert viewer.layers["another"] in widget.frames.choices
    widget.fuse.native.click()
    wait_until(lambda: not widget.running)
    assert "s fused [1]" in viewer.layers


def test_destroyed_widget_cancels_its_fusion(viewer, waiting, notified):
    _, widget, gate = waiting
    destroyed = []
    widget.native.destroyed.connect(lambda: destroyed.append(True))
    widget.native.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert destroyed
    open_gate(gate)
    viewer.add_image(FRAMES, name="another")
    assert [layer.name for layer in viewer.layers] == ["s", "another"]
    assert notified() == []


def test_closing_the_viewer_cancels_the_fusion(viewer, widget):
    gate = Gate()
    viewer.add_image(gate.frames, name="s", visible=False)
    gate.closed = True
    widget.fuse.native.click()
    wait_until(gate.reached.is_set)
    for worker in list(WorkerBase._worker_set):
        worker.quit()  # as napari does before it waits for them
    gate.opened.set()
    wait_until(lambda: not widget.running)
    assert gate.reads_since_opened <= 1  # by a thread that was about to
    assert [layer.name for layer in viewer.layers] == ["s"]


def test_removed_layers_are_no_longer_watched(viewer):
    dock, widget = open_widget(viewer)
    first, second = (viewer.add_image(FRAMES, name=name) for name in ("first", "second"))

    def listens_to(layer):
        callbacks = [callback for emitter in layer.events.emitters.values() for callback in emitter.callbacks]
        return any(isinstance(callback, tuple) and callback[0]() is widget for callback in callbacks)

    assert listens_to(first)
    assert listens_to(second)
    viewer.layers.remove(first)
    assert not listens_to(first)
    assert listens_to(second)
    dock.title.close_button.click()
    assert not listens_to(second)
