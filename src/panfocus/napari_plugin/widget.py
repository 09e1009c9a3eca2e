"""The widget: which layers, how to fuse them; progress, cancel, and the result as layers."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from magicgui.widgets import ComboBox, Container, Label, ProgressBar, PushButton
from qtpy.QtCore import Qt, QTimer
from qtpy.QtWidgets import QLabel, QSizePolicy

from panfocus.errors import InputError, PanfocusError
from panfocus.methods import DEFAULT_METHOD, method_names, parse_settings
from panfocus.napari_plugin.fusion_worker import Cancelled, Outcome, fuse_source
from panfocus.napari_plugin.layer_frames import Source, axis_name, from_list, from_stacks, in_one_line
from panfocus.napari_plugin.result_layers import LayerData, layers_of, numbered
from panfocus.napari_plugin.scroll_area import Scrolled
from panfocus.napari_plugin.settings_form import as_tooltip, method_fields, method_help, option_fields

if TYPE_CHECKING:
    import napari
    from napari.layers import Image, Layer

SELECTED, NO_AXIS = "selected layers", -1  # as values: magicgui takes None for no choice at all
WIDTH, LABEL_WIDTH = 300, 105  # pixels, that names of layers, and of all settings, can be read in
MARGIN = 10  # or a bit more, on each side
MOST_HEIGHT = 200  # that what is said asks for: where a dock is low, the rest is in the tooltip
COMPILING = "compiling for this machine, which may take half a minute"
REFRESH = 100  # milliseconds between looks at the progress, which comes from other threads

Made = tuple[Outcome, list[LayerData]]  # what a fusion gives, and its layers


class FusionWidget(Container[Any]):
    """Fuse the slices of a stack, or the selected layers, into a picture that is sharp everywhere."""

    def __init__(self, napari_viewer: "napari.Viewer") -> None:
        self._viewer = napari_viewer
        self.frames = ComboBox(
            label="frames",
            choices=self._stacks,
            tooltip="A stack, or the selected layers: flat ones are frames, stacks of a size are channels. "
            "Of a time series, the time point where the slider stands is fused.",
        )
        self.focus_axis = ComboBox(
            label="focus axis", choices=self._axes, tooltip="Axis along which the focus changes."
        )
        self.channel_axis = ComboBox(
            label="channel axis",
            choices=lambda widget: [("none", NO_AXIS), *self._axes(widget)],
            tooltip="Axis of channels, which one decision is made for.",
        )
        self.method = ComboBox(
            label="method",
            choices=method_names(),
            value=DEFAULT_METHOD,
            tooltip=method_help(DEFAULT_METHOD),
        )
        self.settings = method_fields(DEFAULT_METHOD)
        self.more = option_fields()
        self.fuse = PushButton(text="Fuse")
        self.cancel = PushButton(text="Cancel", enabled=False)
        self.bar = ProgressBar(value=0, min=0, max=100, visible=False)
        self.said = Label()
        self.said.native.setTextFormat(Qt.TextFormat.PlainText)
        self.said.native.setWordWrap(True)
        self.said.native.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.said.native.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        source = [self.frames, self.focus_axis, self.channel_axis]
        fields = [*source, self.method, *self.settings.widgets, *self.more.widgets]
        self._form = _flush(Container(widgets=fields, labels=True))
        self._align_labels()
        buttons = _flush(Container(widgets=[self.fuse, self.cancel], layout="horizontal", labels=False))
        super().__init__(widgets=[buttons, self.bar, self.said], labels=False)
        self.native.layout().insertWidget(0, Scrolled(self._form.native))  # the buttons stay in sight
        self.min_width = WIDTH
        self.running = self._following = self._destroyed = False
        self._followed: set[Image] = set()
        self._pictures: WeakKeyDictionary[Layer, set[Any]] = WeakKeyDictionary()  # and what they are made of
        self._offered: tuple[Image, tuple[str, ...]] | None = None  # the layer whose axes are, and these
        self._unwanted = threading.Event()
        self._at = ("", 0.0)
        self._compiling = False
        self._timer = QTimer(self.native)
        self._timer.setInterval(REFRESH)
        self._timer.timeout.connect(self._show_progress)
        self.frames.changed.connect(self._choose_axes)
        self.method.changed.connect(self._method_chosen)
        self.fuse.changed.connect(self.start)
        self.cancel.changed.connect(self._cancel)
        self.native_parent_changed.connect(self._moved)
        self.native.destroyed.connect(self._gone)
        self._follow()

    def start(self) -> None:
        """Begin to fuse, in a thread of its own."""
        from napari.qt.threading import thread_worker

        if self.running:
            return
        method = self.method.value
        try:
            layers, source = self._layers(), self._source()
            settings = parse_settings(method, self.settings.typed)
        except PanfocusError as error:
            self._refuse(str(error))
            return
        options, unwanted = self.more.values, threading.Event()
        self._unwanted = unwanted

        def check() -> None:
            if unwanted.is_set() or worker.abort_requested:  # by napari, which waits before it closes
                raise Cancelled

        def progress(stage: str, done: float) -> None:
            self._at = (stage, done)
            check()

        def compiling(under_way: bool) -> None:
            self._compiling = under_way

        def work() -> Made | str | None:
            from panfocus._numba import compiling_watched  # here: it loads the compiler

            try:
                with compiling_watched(compiling):
                    outcome = fuse_source(source, method, settings, progress=progress, check=check, **options)
                return outcome, layers_of(outcome, source)
            except PanfocusError as error:
                return str(error)  # as text: napari shows the traceback of what is raised
            except MemoryError:
                return "not enough memory; use fewer or smaller slices"
            except Cancelled:
                return None

        self._at = ("preparing", 0.0)
        self._show_running(True)
        worker = thread_worker(work)()
        worker.returned.connect(lambda made: self._show(made, source, layers))
        worker.errored.connect(self._fail)
        worker.finished.connect(lambda: self._show_running(False))
        worker.start()

    def reset_choices(self, *_: Any) -> None:
        """Offer the layers that there are now; the first stack to appear is chosen."""
        if not self._following:  # napari goes on calling
            return
        had_stacks = len(self.frames.choices) > 1
        self._follow_layers(set(self._images()))
        _renew(self.frames)
        if not had_stacks:
            self.frames.value = self.frames.choices[-1]
        self._choose_axes()

    def _source(self) -> Source:
        layers = self._layers()
        flat = [layer.ndim == 2 for layer in layers]
        if all(flat):
            return from_list(layers)
        if any(flat):
            raise InputError("flat layers and stacks are selected together; select frames, or stacks alone")
        channel_axis = None if self.channel_axis.value == NO_AXIS else self.channel_axis.value
        return from_stacks(layers, self.focus_axis.value, channel_axis, self._position(layers[0]))

    def _layers(self) -> "list[Image]":
        if self.frames.value != SELECTED:
            return [self.frames.value]
        selected = self._viewer.layers.selection
        return [layer for layer in self._images() if layer in selected]

    def _images(self) -> "list[Image]":
        from napari.layers import Image

        return [layer for layer in self._viewer.layers if isinstance(layer, Image)]

    def _position(self, layer: "Image") -> list[int]:
        """Where the viewer's sliders stand, on the axes of a layer before its picture's."""
        point = layer.world_to_data(self._viewer.dims.point)
        leading = zip(point[: layer.ndim - 2], layer.data.shape, strict=False)
        return [min(max(round(float(at)), 0), length - 1) for at, length in leading]

    def _stacks(self, _: Any) -> list[Any]:
        stacks = [layer for layer in self._images() if layer.ndim > 2]
        return [(SELECTED, SELECTED), *((layer.name, layer) for layer in stacks)]

    def _axes(self, _: Any) -> list[Any]:
        layers = self._layers()
        if not layers:
            return []
        layer = layers[0]
        lengths = layer.data.shape[: layer.ndim - 2]
        return [(f"{axis_name(layer, axis)} ({length})", axis) for axis, length in enumerate(lengths)]

    def _choose_axes(self) -> None:
        """Offer the axes of another layer, and again when there are others or they are named."""
        if not self._following:
            return
        layer = next(iter(self._layers()), None)
        axes = None if layer is None else (layer, layer.axis_labels)
        _renew(self.focus_axis)
        _renew(self.channel_axis)
        if axes != self._offered:
            self._offered = axes
            self._choose_likely_axes([] if layer is None else layer.axis_labels[: layer.ndim - 2])

    def _choose_likely_axes(self, names: Sequence[str]) -> None:
        """Choose for the focus z, or the last; for channels c, or none."""
        labels = [name.lower() for name in names]
        self.focus_axis.visible = bool(labels)
        self.channel_axis.visible = len(labels) > 1
        if labels:
            self.focus_axis.value = labels.index("z") if "z" in labels else len(labels) - 1
            self.channel_axis.value = labels.index("c") if "c" in labels else NO_AXIS

    def _method_chosen(self, name: str) -> None:
        at = self._form.index(self.method) + 1
        for widget in self.settings.widgets:
            self._form.remove(widget)
        self.method.tooltip = method_help(name)
        self.settings = method_fields(name)
        for k, widget in enumerate(self.settings.widgets):
            self._form.insert(at + k, widget)
        self._align_labels()

    def _align_labels(self) -> None:
        for label in self._form.native.findChildren(QLabel):
            label.setMinimumWidth(LABEL_WIDTH)

    def _show_running(self, running: bool) -> None:
        if self._destroyed:
            return
        self.running = running
        self.fuse.enabled, self.cancel.enabled = not running, running
        self.bar.visible = running
        if running:
            self._timer.start()
            self._show_progress()
        else:
            self._timer.stop()

    def _show_progress(self) -> None:
        stage, done = self._at
        self._say("cancelling" if self._unwanted.is_set() else COMPILING if self._compiling else stage)
        self.bar.native.setMaximum(100 if done else 0)  # 0: it moves, and does not tell how far it is
        self.bar.value = 100 * done

    def _show(self, made: Made | str | None, source: Source, fused: "Sequence[Image]") -> None:
        from napari.utils.notifications import show_error

        if self._destroyed:
            return
        self._timer.stop()  # what is said now stays
        if made is None or self._unwanted.is_set():  # it may be cancelled after its last step
            self._say("cancelled")
        elif isinstance(made, str):
            self._refuse(made)
        else:
            outcome, layers = made
            added, failed = self._add(layers)
            self._hide(fused, below=[layer for layer in added if layer.visible])
            if outcome.result.depth is not None and source.focus_axis is not None and not failed:
                self._show_in_3d(source.channels[0].layer.ndim, source.focus_axis)
            self._say("\n".join((*failed, *outcome.said, *source.notices)))
            for line in failed:
                show_error(line)

    def _add(self, layers: Sequence[LayerData]) -> "tuple[list[Layer], list[str]]":
        """Add layers; return those that were, and say in a line each which cannot be.

        napari selects them, but selected layers that were fused stay so, to be fused again.
        """
        from napari.layers import Layer

        added, failed = [], []
        selected = set(self._viewer.layers.selection)
        self._following = False  # else the axes of layers that are selected meanwhile would be chosen
        try:
            for data, about, kind in numbered(layers, {layer.name for layer in self._viewer.layers}):
                try:
                    layer = Layer.create(data, about, kind)
                    self._viewer.add_layer(layer)
                    added.append(layer)
                except Exception as error:  # whoever listens to the viewer may raise anything
                    failed.append(f"{about['name']} cannot be shown: {in_one_line(error)}")
            if self.frames.value == SELECTED:
                self._viewer.layers.selection = selected
        finally:
            self._following = True
        self.reset_choices()
        return added, failed

    def _hide(self, layers: "Sequence[Image]", *, below: "Sequence[Layer]") -> None:
        """Hide layers below the pictures that were made of them, and earlier pictures of theirs.

        Those of channels are often added up, and so would be the blurred slices below and the sharp picture.
        """
        if not below:
            return
        made_of = {layer.unique_id for layer in layers}  # layers themselves are wrapped anew for every plugin
        earlier = [picture for picture, of in self._pictures.items() if of & made_of]
        for covered in (*layers, *earlier):
            covered.visible = False
        self._pictures.update(dict.fromkeys(below, made_of))

    def _show_in_3d(self, ndim: int, focus_axis: int) -> None:
        """Move the focus axis next to the picture's: those three are what the 3-D view shows.

        A surface without the axes between, such as channels, would lie along these: napari counts axes from
        the last, and would mix their units and lengthen their sliders.
        """
        dims = self._viewer.dims
        focus = dims.ndim - ndim + focus_axis
        *others, rows, cols = dims.order
        if {rows, cols} == {dims.ndim - 2, dims.ndim - 1}:  # else the user looks from another side
            dims.order = (*(axis for axis in others if axis != focus), focus, rows, cols)

    def _say(self, text: str) -> None:
        self.said.value = text
        label = self.said.native  # which the layout gives too few lines, unless it asks for more
        needed = label.heightForWidth(max(self.native.width(), WIDTH) - 2 * MARGIN)
        label.setMinimumHeight(min(needed, MOST_HEIGHT))
        self.said.tooltip = as_tooltip(text)

    def _fail(self, error: Exception) -> None:
        """Say that something is wrong with the program; napari shows where."""
        if not self._destroyed:
            self._timer.stop()
            self._say(f"failed: {error or type(error).__name__}")

    def _refuse(self, reason: str) -> None:
        """Say why nothing was fused: among napari's notifications, which go, and here."""
        from napari.utils.notifications import show_error

        self._say(reason)
        show_error(reason)

    def _cancel(self) -> None:
        self._unwanted.set()

    def _moved(self, parent: Any) -> None:
        """Stop where napari takes the widget out of a dock that is closed; go on in another dock.

        A dock that is only hidden keeps the widget, and the fusion.
        """
        if parent is None:
            self._leave()
        else:
            self._follow()

    def _gone(self) -> None:
        self._destroyed = True
        self._leave()

    def _follow(self) -> None:
        self._following = True
        self._viewer.layers.selection.events.changed.connect(self._choose_axes)
        self.reset_choices()

    def _leave(self) -> None:
        self._following = False
        self._cancel()
        self._viewer.layers.selection.events.changed.disconnect(self._choose_axes)
        self._follow_layers(set())
        self._offered = None

    def _follow_layers(self, layers: "set[Image]") -> None:
        """Hear of other data, which may have other axes, and of other names of axes; of no other layers."""
        for layer in self._followed - layers:
            layer.events.data.disconnect(self.reset_choices)
            layer.events.axis_labels.disconnect(self.reset_choices)
        for layer in layers - self._followed:
            layer.events.data.connect(self.reset_choices)
            layer.events.axis_labels.connect(self.reset_choices)
        self._followed = layers


def _renew(choice: ComboBox) -> None:
    """Offer what there is now; what was chosen stays so, also by another name, which magicgui goes by."""
    chosen = choice.value
    with choice.changed.blocked():
        choice.choices = ()  # else those that stay precede those that are new
        choice.reset_choices()
        if chosen in choice.choices:
            choice.value = chosen


def _flush(container: "Container[Any]") -> "Container[Any]":
    container.margins = (0, 0, 0, 0)  # so that what is inside stands in line with what is beside it
    return container
