"""What may be higher than the dock it is in."""

from qtpy.QtCore import QEvent, QObject, QSize, Qt
from qtpy.QtWidgets import QScrollArea, QScrollBar, QSizePolicy, QWidget


class Scrolled(QScrollArea):
    """A widget at its full height, or scrolled where there is less room.

    Qt's own scroll areas, and so magicgui's, take all room that there is, and ask for a fixed height at most.
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

    def sizeHint(self) -> QSize:  # noqa: N802  # Qt's name, as below
        """Ask for what the widget inside asks for."""
        return self._inside.sizeHint().grownBy(self.contentsMargins())  # a style may draw a frame

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Take less height, but never less width: beside the bar everything can be read."""
        inside = self._inside.minimumSizeHint().grownBy(self.contentsMargins())
        width = inside.width() + self._bar.sizeHint().width()
        return QSize(width, min(inside.height(), super().minimumSizeHint().height()))

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:  # noqa: N802
        """Ask for another height when rows have come or gone."""
        if event is not None and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)
