"""The widget: choose layers and settings, show progress, cancel, and add the result as layers."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from magicgui.widgets import ComboBox, Container, Label, ProgressBar, PushButton
from qtpy.QtCore import QEvent, QObject, QSize, Qt, QTimer
from qtpy.QtWidgets import QLabel, QScrollArea, QScrollBar, QSizePolicy, QWidget

from panfocus.errors import InputError, PanfocusError
from panfocus.methods import DEFAULT_METHOD, method_names, parse_settings
from panfocus.napari_plugin.fusion_worker import Cancelled, fuse_source
from panfocus.napari_plugin.layer_frames import Source, axis_name, from_list, from_stacks, in_one_line
from panfocus.napari_plugin.result_layers import LayerData, layers_of, number_names
from panfocus.napari_plugin.settings_form import (
    PLUGIN,
    as_tooltip,
    method_fields,
    method_help,
    option_fields,
)
from panfocus.result import FusionResult

if TYPE_CHECKING:
    import napari
    from napari.layers import Image, Layer

SELECTED, NO_AXIS = "selected layers", -1  # values of choices: for magicgui, None is no choice
WIDTH, LABEL_WIDTH = 300, 105  # pixels: names of layers and settings are readable
MARGIN = 10  # pixels on each side, approximately
MAX_MESSAGE_HEIGHT = 200  # pixels; the tooltip has the full message
COMPILING = "compiling for this machine, which may take half a minute"
REFRESH = 100  # milliseconds between updates of the progress, which comes from other threads

Fused = tuple[FusionResult, list[str], list[LayerData]]  # a result, its summary and its layers


class FusionWidget(Container[Any]):
    """Fuses the slices of a stack, or the selected layers, into one sharp image."""

    def __init__(self, napari_viewer: "napari.Viewer") -> None:
        self._viewer = napari_viewer
        self.frames = ComboBox(
            label="frames",
            choices=self._stacks,
            tooltip="A stack, or the selected layers: 2-D layers are frames, stacks are channels. "
            "Of a time series, the current time point is fused.",
        )
        self.focus_axis = ComboBox(
            label="focus axis", choices=self._axes, tooltip="Axis along which the focus changes."
        )
        self.channel_axis = ComboBox(
            label="channel axis",
            choices=lambda widget: [("none", NO_AXIS), *self._axes(widget)],
            tooltip="Axis of channels. How they are decided is set by: decide channels.",
        )
        self.method = ComboBox(
            label="method",
            choices=method_names(),
            value=DEFAULT_METHOD,
            tooltip=method_help(DEFAULT_METHOD),
        )
        self.settings = method_fields(DEFAULT_METHOD)
        self.fusion_options = option_fields()
        self.fuse = PushButton(text="Fuse")
        self.cancel = PushButton(text="Cancel", enabled=False)
        self.bar = ProgressBar(value=0, min=0, max=100, visible=False)
        self.message = Label()
        self.message.native.setTextFormat(Qt.TextFormat.PlainText)
        self.message.native.setWordWrap(True)
        self.message.native.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.message.native.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)
        source = [self.frames, self.focus_axis, self.channel_axis]
        fields = [*source, self.method, *self.settings.widgets, *self.fusion_options.widgets]
        self._form = _flush(Container(widgets=fields, labels=True))
        self._align_labels()
        buttons = _flush(Container(widgets=[self.fuse, self.cancel], layout="horizontal", labels=False))
        super().__init__(widgets=[buttons, self.bar, self.message], labels=False)
        self.native.layout().insertWidget(0, _ScrollArea(self._form.native))  # the buttons stay visible
        self.min_width = WIDTH
        self.running = self._following = self._destroyed = False
        self._followed: set[Image] = set()
        # Fused layers, with the identifiers of the layers that they were made of.
        self._sources: WeakKeyDictionary[Layer, set[Any]] = WeakKeyDictionary()
        self._offered: tuple[Image, tuple[str, ...]] | None = None  # layer and axes that are offered
        self._cancelled = threading.Event()
        self._progress = ("", 0.0)
        self._compiling = False
        self._timer = QTimer(self.native)
        self._timer.setInterval(REFRESH)
        self._timer.timeout.connect(self._show_progress)
        self.frames.changed.connect(self._choose_axes)
        self.method.changed.connect(self._show_settings)
        self.fuse.changed.connect(self.start)
        self.cancel.changed.connect(self._cancel)
        self.native_parent_changed.connect(self._follow_dock)
        self.native.destroyed.connect(self._mark_destroyed)
        self._follow()

    def start(self) -> None:
        """Start a fusion in another thread."""
        from napari.qt.threading import thread_worker

        if self.running:
            return
        method = self.method.value
        try:
            layers, source = self._layers(), self._source()
            settings = parse_settings(method, self.settings.typed)
        except PanfocusError as error:
            self._show_error(PLUGIN.text(error))
            return
        options, cancelled = self.fusion_options.values, threading.Event()
        self._cancelled = cancelled

        def check() -> None:
            if cancelled.is_set() or worker.abort_requested:  # napari aborts workers when it closes
                raise Cancelled

        def progress(stage: str, done: float) -> None:
            self._progress = (stage, done)
            check()

        def compiling(under_way: bool) -> None:
            self._compiling = under_way

        def work() -> Fused | str | None:
            from panfocus._numba import watch_compiling

            try:
                with watch_compiling(compiling):
                    result, summary = fuse_source(
                        source, method, settings, progress=progress, check=check, **options
                    )
                return result, summary, layers_of(result, source)
            except PanfocusError as error:
                return PLUGIN.text(error)  # napari shows a traceback of raised errors
            except MemoryError:
                return "Out of memory. Use fewer or smaller slices."
            except Cancelled:
                return None

        self._progress = ("preparing", 0.0)
        self._show_running(True)
        worker = thread_worker(work)()
        worker.returned.connect(lambda fused: self._show(fused, source, layers))
        worker.errored.connect(self._fail)
        worker.finished.connect(lambda: self._show_running(False))
        worker.start()

    def reset_choices(self, *_: Any) -> None:
        """Update the choice of layers; select the first stack that appears."""
        if not self._following:  # napari calls this for closed docks too
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
            raise InputError("2-D layers and stacks cannot be fused together. Select one kind only.")
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
        """Return the position of the sliders on the axes of a layer before its image axes."""
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
        """Update the choice of axes; select likely ones if the layer or its axes have changed."""
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
        """Select z or the last axis for focus, and c or none for channels."""
        labels = [name.lower() for name in names]
        self.focus_axis.visible = bool(labels)
        self.channel_axis.visible = len(labels) > 1
        if labels:
            self.focus_axis.value = labels.index("z") if "z" in labels else len(labels) - 1
            self.channel_axis.value = labels.index("c") if "c" in labels else NO_AXIS

    def _show_settings(self, name: str) -> None:
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
        stage, done = self._progress
        self._set_message(
            "cancelling" if self._cancelled.is_set() else COMPILING if self._compiling else stage
        )
        self.bar.native.setMaximum(100 if done else 0)  # 0: indeterminate
        self.bar.value = 100 * done

    def _show(self, fused: Fused | str | None, source: Source, sources: "Sequence[Image]") -> None:
        from napari.utils.notifications import show_error

        if self._destroyed:
            return
        self._timer.stop()  # progress would replace the message
        if fused is None or self._cancelled.is_set():  # or cancelled after the last step
            self._set_message("cancelled")
        elif isinstance(fused, str):
            self._show_error(fused)
        else:
            result, summary, layers = fused
            added, failed = self._add(layers)
            self._hide(sources, below=[layer for layer in added if layer.visible])
            if result.depth is not None and source.focus_axis is not None and not failed:
                self._show_in_3d(source.channels[0].layer.ndim, source.focus_axis)
            self._set_message("\n".join((*failed, *summary, *source.notices)))
            for line in failed:
                show_error(line)

    def _add(self, layers: Sequence[LayerData]) -> "tuple[list[Layer], list[str]]":
        """Add layers; return those that were added, and a line for each that could not be.

        napari selects new layers. If selected layers were fused, they are selected again.
        """
        from napari.layers import Layer

        added, failed = [], []
        selected = set(self._viewer.layers.selection)
        self._following = False  # do not update axes for layers that napari selects meanwhile
        try:
            for data, about, kind in number_names(layers, {layer.name for layer in self._viewer.layers}):
                try:
                    layer = Layer.create(data, about, kind)
                    self._viewer.add_layer(layer)
                    added.append(layer)
                except Exception as error:  # listeners of the viewer may raise anything
                    failed.append(f"Cannot show {about['name']}: {in_one_line(error)}")
            if self.frames.value == SELECTED:
                self._viewer.layers.selection = selected
        finally:
            self._following = True
        self.reset_choices()
        return added, failed

    def _hide(self, layers: "Sequence[Image]", *, below: "Sequence[Layer]") -> None:
        """Hide the fused layers below their result, and earlier results of these layers.

        Channels are often blended additively, which would add the blurred slices to the sharp image.
        """
        if not below:
            return
        made_of = {
            layer.unique_id for layer in layers
        }  # napari wraps layers for plugins, so they cannot be compared
        earlier = [result for result, sources in self._sources.items() if sources & made_of]
        for covered in (*layers, *earlier):
            covered.visible = False
        self._sources.update(dict.fromkeys(below, made_of))

    def _show_in_3d(self, ndim: int, focus_axis: int) -> None:
        """Move the focus axis next to the image axes, because the 3-D view shows the last three axes.

        napari counts axes from the last: otherwise the surface would lie along other axes, such as channels.
        """
        dims = self._viewer.dims
        focus = dims.ndim - ndim + focus_axis
        *others, rows, cols = dims.order
        if {rows, cols} == {dims.ndim - 2, dims.ndim - 1}:  # the user has not rotated the view
            dims.order = (*(axis for axis in others if axis != focus), focus, rows, cols)

    def _set_message(self, text: str) -> None:
        self.message.value = text
        label = self.message.native  # the layout gives it too few lines unless it requests more
        needed = label.heightForWidth(max(self.native.width(), WIDTH) - 2 * MARGIN)
        label.setMinimumHeight(min(needed, MAX_MESSAGE_HEIGHT))
        self.message.tooltip = as_tooltip(text)

    def _fail(self, error: Exception) -> None:
        """Show an unexpected error; napari shows the traceback."""
        if not self._destroyed:
            self._timer.stop()
            self._set_message(f"Unexpected error: {error or type(error).__name__}")

    def _show_error(self, reason: str) -> None:
        """Show why nothing was fused, here and as a notification of napari."""
        from napari.utils.notifications import show_error

        self._set_message(reason)
        show_error(reason)

    def _cancel(self) -> None:
        self._cancelled.set()

    def _follow_dock(self, parent: Any) -> None:
        """Cancel when napari closes the dock; continue in a new dock.

        A hidden dock keeps the widget and the fusion.
        """
        if parent is None:
            self._leave()
        else:
            self._follow()

    def _mark_destroyed(self) -> None:
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
        """Watch these layers, and no others, for changes of their data and axes."""
        for layer in self._followed - layers:
            layer.events.data.disconnect(self.reset_choices)
            layer.events.axis_labels.disconnect(self.reset_choices)
        for layer in layers - self._followed:
            layer.events.data.connect(self.reset_choices)
            layer.events.axis_labels.connect(self.reset_choices)
        self._followed = layers


class _ScrollArea(QScrollArea):
    """Shows a widget at its full height, and scrolls it if there is less room.

    The scroll areas of Qt and magicgui take all available room and request a fixed height.
    """

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self._inside = inside
        self._bar = QScrollBar(Qt.Orientation.Vertical)
        self.setWidget(inside)
        self.setVerticalScrollBar(self._bar)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def sizeHint(self) -> QSize:  # noqa: N802  # a name of Qt, as below
        """Request the size of the widget inside."""
        return self._inside.sizeHint().grownBy(self.contentsMargins())  # a style may draw a border

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Allow less height, but not less width, so that all text stays readable next to the bar."""
        inside = self._inside.minimumSizeHint().grownBy(self.contentsMargins())
        width = inside.width() + self._bar.sizeHint().width()
        return QSize(width, min(inside.height(), super().minimumSizeHint().height()))

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:  # noqa: N802
        """Request another height when rows are added or removed."""
        if event is not None and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


def _renew(choice: ComboBox) -> None:
    """Update the choices and keep the selected value, which magicgui would lose if its name changes."""
    chosen = choice.value
    with choice.changed.blocked():
        choice.choices = ()  # keep the order: magicgui puts old choices first
        choice.reset_choices()
        if chosen in choice.choices:
            choice.value = chosen


def _flush(container: "Container[Any]") -> "Container[Any]":
    container.margins = (0, 0, 0, 0)  # align the inside with the widgets next to it
    return container
