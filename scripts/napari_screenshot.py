"""Show the napari plugin at work on the sample: `python scripts/napari_screenshot.py docs/images/napari.png`.

It needs a screen; `xvfb-run -s "-screen 0 1400x1000x24"` before it gives one in memory.
"""

import sys
import time

import napari
from npe2 import PluginManager
from qtpy.QtWidgets import QApplication


def main(path: str) -> None:
    """Fuse the sample in the viewer, then write what is on the screen."""
    PluginManager.instance().discover()
    viewer = napari.Viewer()
    viewer.window._qt_window.resize(1360, 900)
    _, widget = viewer.window.add_plugin_dock_widget("panfocus", "Fuse focus stack")
    viewer.open_sample("panfocus", "sample")
    widget.fuse.native.click()
    let_qt_work(lambda: not widget.running)
    viewer.layers["panfocus sample labels"].visible = True
    viewer.reset_view()
    end = time.monotonic() + 8  # until the notification is gone
    let_qt_work(lambda: time.monotonic() > end)
    viewer.screenshot(path, canvas_only=False, flash=False)
    viewer.close()


def let_qt_work(until) -> None:  # noqa: ANN001
    """Wait, while the viewer goes on."""
    while not until():
        QApplication.processEvents()
        time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1])
