"""Show the napari plugin at work on the sample: `python scripts/napari_screenshot.py docs/images`.

It needs a screen; `xvfb-run -s "-screen 0 1400x1000x24"` before it gives one in memory.
"""

import sys
import time

import napari
from npe2 import PluginManager
from qtpy.QtWidgets import QApplication


def main(folder: str) -> None:
    """Fuse the sample in the viewer, then write what is on the screen: the picture, and the surface."""
    PluginManager.instance().discover()
    viewer = napari.Viewer()
    viewer.window._qt_window.resize(1360, 900)
    _, widget = viewer.window.add_plugin_dock_widget("panfocus", "Fuse focus stack")
    (sample,) = viewer.open_sample("panfocus", "sample")
    sample.scale, sample.units = (80, 1, 1), "um"  # as if it were known: to show a relief
    widget.fuse.native.click()
    let_qt_work(lambda: not widget.running)
    end = time.monotonic() + 12  # until the notification is gone
    let_qt_work(lambda: time.monotonic() > end)
    viewer.screenshot(f"{folder}/napari.png", canvas_only=False, flash=False)
    for layer in viewer.layers:
        layer.visible = "surface" in layer.name
    viewer.dims.ndisplay = 3
    viewer.reset_view()
    viewer.camera.angles = (0, 30, 60)
    viewer.screenshot(f"{folder}/napari-surface.png", canvas_only=True, flash=False)
    viewer.close()


def let_qt_work(until) -> None:  # noqa: ANN001
    """Wait, while the viewer goes on."""
    while not until():
        QApplication.processEvents()
        time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1])
