"""`panfocus doctor`: installed packages, speed, and missing parts."""

import os
import platform
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from panfocus.cli._console import Console, console
from panfocus.cli._options import Debug
from panfocus.errors import PanfocusError

if TYPE_CHECKING:
    from panfocus.dictionary import CoupledDictionary

EXTRAS = {  # name: purpose
    "app": "the page of panfocus app",
    "dask": "clusters and lazy arrays",
    "napari": "the napari plugin",
    "ome": "OME-Zarr",
    "raw": "RAW files",
    "reproduce": "plots of panfocus reproduce",
}

_SPEED_TEST_SIDE = 200  # pixels: about 37,000 patches, at most a second


def doctor(debug: Debug = False) -> None:
    """Check the installation, memory and speed."""
    with console(debug=debug) as terminal:
        terminal.say(f"python {platform.python_version()}, {platform.platform()}")
        _report_packages(terminal)
        _report_machine(terminal)
        _report_compiled_code(terminal)
        from panfocus.dictionary import CoupledDictionary

        default = CoupledDictionary.default()
        terminal.say(f"default dictionary: {default}")
        terminal.say(f"speed: {_patches_per_second(default):,.0f} patches coded per second")
        terminal.say("All required packages are installed.")


def _report_packages(terminal: Console) -> None:
    from importlib.metadata import version

    terminal.say(f"panfocus {version('panfocus')}")
    missing = []
    for package in _required():
        if found := _version(package):
            terminal.say(f"{package} {found}")
        else:
            missing.append(package)
    if missing:
        raise PanfocusError(
            f"Missing packages: {', '.join(missing)}. Install panfocus again.", packages=missing
        )
    for extra, purpose in EXTRAS.items():
        lacking = [package for package in _required(extra) if not _version(package)]
        state = f"missing {', '.join(lacking)}: pip install 'panfocus[{extra}]'" if lacking else "installed"
        terminal.say(f"extra {extra} ({purpose}): {state}")


def _required(extra: str = "") -> list[str]:
    """Return the packages that the installed panfocus, or one of its extras, requires."""
    from importlib.metadata import requires

    requirement = re.compile(r"""(?P<package>[\w.-]+)[^;]*(;\s*extra\s*==\s*["'](?P<extra>[\w-]+)["'])?""")
    matches = filter(None, map(requirement.fullmatch, requires("panfocus") or ()))
    return [each["package"] for each in matches if (each["extra"] or "") == extra]


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _report_machine(terminal: Console) -> None:
    from panfocus._threads import available_cores

    terminal.say(f"cores: {os.cpu_count()}, of which panfocus uses {available_cores()}")
    if hasattr(os, "sysconf"):  # not on Windows
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        terminal.say(f"memory: {memory / 1e9:.1f} GB")


def _report_compiled_code(terminal: Console) -> None:
    from panfocus.sparse import _kernel_numba

    folder: str | None = _kernel_numba.sum_norms.stats.cache_path
    if folder is None:
        terminal.say(
            "compiled code: not cached, every run compiles it again; set NUMBA_CACHE_DIR to a writable folder"
        )
        return
    state = "cached" if any(Path(folder).glob("*.nbi")) else "not cached yet; the first run takes longer"
    terminal.say(f"compiled code: {state}, in {folder}")


def _patches_per_second(dictionary: "CoupledDictionary") -> float:
    """Time the coding step of the method `coupled` on a part of the sample."""
    from importlib.resources import as_file, files

    from panfocus.decide.gray import to_gray
    from panfocus.decide.patches import centred_patches, patch_origins
    from panfocus.io.input_files import find_inputs
    from panfocus.io.read_stack import read_image
    from panfocus.sparse import Pursuit

    with as_file(files("panfocus") / "data" / "sample") as sample:
        image = read_image(find_inputs([sample])[0])
    part = to_gray(image[:_SPEED_TEST_SIDE, :_SPEED_TEST_SIDE])
    size = dictionary.patch_size
    rows, cols = (patch_origins(side, size, 1) for side in part.shape)
    patches, _ = centred_patches(part, rows, cols, size)
    pursuit = Pursuit(dictionary.matrix, max_atoms=size**2, max_sq_error=0.1)
    pursuit.codes(patches[:, :1])  # load or compile
    started = time.perf_counter()
    pursuit.codes(patches)
    return len(rows) * len(cols) / (time.perf_counter() - started)
