import os
import shutil
import subprocess
from pathlib import Path

import pytest
from qt_waiting import wait_until

MANIFEST = Path(__file__).resolve().parents[2] / "src" / "panfocus" / "napari_plugin" / "napari.yaml"


@pytest.fixture(scope="session")
def display():
    """A virtual screen: the offscreen platform of Qt lacks the OpenGL that napari needs."""
    if not shutil.which("Xvfb"):
        reason = "no Xvfb; make test installs it if apt may be used"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    out, into = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(into), "-screen", "0", "1400x1000x24", "-nolisten", "tcp"],
        pass_fds=[into],
        stderr=subprocess.DEVNULL,
    )
    os.close(into)
    with os.fdopen(out) as told:
        number = told.readline().strip()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISPLAY", f":{number}")
        patch.setenv("QT_QPA_PLATFORM", "xcb")
        patch.setenv("LIBGL_ALWAYS_SOFTWARE", "1")
        yield number
    server.terminate()
    server.wait()


@pytest.fixture(scope="session")
def shown_viewer(display, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAPARI_CONFIG", str(tmp_path_factory.mktemp("napari") / "settings.yaml"))
        import napari
        from npe2 import PluginManager, PluginManifest

        plugins = PluginManager.instance()
        plugins.discover()
        if "panfocus" not in plugins:  # the package is on the path but not installed
            plugins.register(PluginManifest.from_file(MANIFEST))
        with napari.utils.notifications.notification_manager:  # otherwise Qt aborts if a slot raises
            viewer = napari.Viewer(show=True)
            viewer.window._qt_window.resize(1300, 900)
            yield viewer
            viewer.close()


@pytest.fixture
def viewer(shown_viewer):
    yield shown_viewer
    shown_viewer.dims.ndisplay = 2
    shown_viewer.layers.clear()
    shown_viewer.dims.order = (0, 1)


@pytest.fixture
def widget(viewer):
    dock, inside = viewer.window.add_plugin_dock_widget("panfocus", "Fuse focus stack")
    yield inside
    wait_until(lambda: not inside.running)
    viewer.window.remove_dock_widget(dock)


@pytest.fixture
def fused(widget, viewer):
    """Press Fuse, wait, and return the new layers by name."""

    def press():
        before = list(viewer.layers)
        widget.fuse.native.click()
        wait_until(lambda: not widget.running)
        return {layer.name: layer for layer in viewer.layers if layer not in before}

    return press


@pytest.fixture
def notified():
    """Return the notifications of napari since the start of the test."""
    from napari.utils.notifications import notification_manager

    first = len(notification_manager.records)
    return lambda: notification_manager.records[first:]
