"""Make screenshots of the napari plugin with the sample: `python scripts/napari_screenshot.py docs/images`.

It needs a screen; without one, prefix it with `xvfb-run -s "-screen 0 1400x1000x24"`.
"""

import sys
import time
from pathlib import Path

import napari
import numpy as np
from npe2 import PluginManager
from PIL import Image
from qtpy.QtWidgets import QApplication


def main(folder: str) -> None:
    """Fuse the sample in the viewer, then save screenshots of the image and of the surface."""
    PluginManager.instance().discover()
    viewer = napari.Viewer()
    viewer.window._qt_window.resize(1180, 720)
    _, widget = viewer.window.add_plugin_dock_widget("panfocus", "Fuse focus stack")
    (sample,) = viewer.open_sample("panfocus", "sample")
    sample.scale, sample.units = (80, 1, 1), "um"  # assumed, to show a relief
    viewer.scale_bar.visible = True
    widget.fuse.native.click()
    let_qt_work(lambda: not widget.running)
    viewer.reset_view()
    let_qt_work_for(1)
    write(Path(folder, "napari.png"), viewer.screenshot(canvas_only=False, flash=False))
    for layer in viewer.layers:
        layer.visible = "surface" in layer.name
    viewer.dims.ndisplay = 3
    viewer.reset_view()
    viewer.camera.angles = (0, 20, 135)
    let_qt_work_for(1)
    write(Path(folder, "napari-surface.png"), viewer.screenshot(flash=False)[120:])
    viewer.close()


def write(path: Path, screen: np.ndarray) -> None:
    """Save an image with 256 colours, a third of the size."""
    Image.fromarray(screen[..., :3]).quantize(256).save(path, optimize=True)


def let_qt_work_for(seconds: float) -> None:
    """Let the viewer draw for some seconds."""
    end = time.monotonic() + seconds
    let_qt_work(lambda: time.monotonic() > end)


def let_qt_work(until) -> None:  # noqa: ANN001
    """Process events of the viewer until a condition holds."""
    while not until():
        QApplication.processEvents()
        time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1])
