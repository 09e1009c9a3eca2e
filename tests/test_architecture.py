"""Dependencies point down, files stay at the rim: every module of the package is read and checked.

The tables below are the rules. Imports count wherever they stand: at the top, inside a function, or under
TYPE_CHECKING.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "panfocus"

# The parts, from the ground up. Of the base, each module may import those before it.
BASE = (
    "errors",
    "stack",
    "_compile",
    "_compile_notes",
    "_kernel_compose",
    "_kernel_filters",
    "_kernel_gray",
    "_progress",
    "_reduce",
    "_float",
    "_filters",
    "_checks",
    "_threads",
    "_processes",
)
STAGES = (
    "registration",
    "defects",
    "exposure",
    "gray",
    "focus",
    "patches",
    "sparse",
    "dictionary",
    "select",
    "compose",
    "refine",
    "retouch",
    "metrics",
    "simulate",
)
COMPARE = "compare"  # a front end to those below it, whose own doors are these two:
DOORS = ("cli", "reproduce")
FRONT_ENDS = (*DOORS, "app", "napari_plugin", "batch", "giant", COMPARE)

BELOW_JOBS = (*BASE, *STAGES, "methods", "pipeline", "slabs", "execute", "io", "show")

# What each part may import, beside itself. "__init__" are the public names of panfocus.
MAY_IMPORT: dict[str, set[str]] = {
    "__init__": {"errors"},  # and anything where it is first used
    "__main__": {"cli"},
    **{part: set(BASE[:i]) for i, part in enumerate(BASE)},
    **{part: set(BASE) for part in STAGES},  # stages meet only in methods and pipeline, but for one:
    "dictionary": {*BASE, "sparse", "io.dictionary_file"},
    "methods": {*BASE, *STAGES},
    "execute": {*BASE, *STAGES, "methods"},
    "pipeline": {*BASE, *STAGES, "methods", "execute"},
    "slabs": {*BASE, "methods", "execute", "pipeline"},
    "io": set(BASE),
    "show": {*BASE, "gray", "focus", "methods", "io.ramp", "io.files"},
    "job": {*BELOW_JOBS},
    "cluster": {*BASE, "__init__"},  # for the version
    "perform": {*BASE, "cluster"},
    **{part: {"__init__", *BELOW_JOBS, "job"} for part in FRONT_ENDS},
}
for part in ("batch", "giant"):
    MAY_IMPORT[part] |= {"cluster", "perform"}
for door in DOORS:
    MAY_IMPORT[door].add(COMPARE)
MAY_IMPORT["cli"] |= {"reproduce", "app", "batch", "giant", "cluster"}  # whose commands it holds

# A part's private modules are its own. Exceptions: (who, whose), and why.
PRIVATE_EXCEPTIONS = {
    ("cli/doctor.py", "sparse._kernel_numba"): "tells where compiled code is kept",
}

# Kernels see arrays and numbers: no settings objects, no logging, no paths, no errors of ours.
KERNEL = re.compile(r"_kernel_\w+|_update_\w+|_operators|_limits")
KERNELS_MAY_IMPORT = {
    "collections",
    "contextlib",
    "functools",
    "llvmlite",
    "math",
    "numba",
    "numpy",
    "scipy",
    "typing",
}

# Only `io` opens paths; the others hand it the path, also that of package data (importlib.resources).
IO_LIBRARIES = {"imagecodecs", "PIL", "rawpy", "tifffile"}
IO_CALLS = re.compile(
    r"(.*\.)?open|.*\.(read|write)_(text|bytes)|.*\.tofile"
    r"|(np|numpy)\.(load|loadtxt|genfromtxt|fromfile|memmap|save|savetxt|savez|savez_compressed)"
)


@dataclass(frozen=True)
class Import:
    line: int
    name: str  # in full: panfocus.io.read.read_image
    deferred: bool  # inside a function, or for the type checker only


def imports_of(path: PurePosixPath, tree: ast.AST, *, deferred: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Import(node.lineno, alias.name, deferred)
            case ast.ImportFrom():
                module = _absolute(path, node)
                for alias in node.names:
                    yield Import(node.lineno, f"{module}.{alias.name}", deferred)
            case _:
                later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _for_types_only(node)
                yield from imports_of(path, node, deferred=deferred or later)


def violations(path: PurePosixPath, source: str) -> Iterator[str]:
    """Yield what a module of the package, named by its path below src/panfocus, does against the rules."""
    tree = ast.parse(source)
    part, in_kernel = path.parts[0].removesuffix(".py"), KERNEL.fullmatch(path.stem) is not None
    if part not in MAY_IMPORT:
        yield f"{path}:1: {part} is not in MAY_IMPORT; say there what it may import"
        return
    for found in imports_of(path, tree):
        if not _within(found.name, "panfocus"):
            complaint = _foreign_complaint(part, found.name.partition(".")[0], in_kernel=in_kernel)
        elif part == "__init__" and found.deferred:
            complaint = None
        else:
            complaint = _own_complaint(path, part, _target(found.name), in_kernel=in_kernel)
        if complaint:
            yield f"{path}:{found.line}: {complaint}"
    if part != "io":
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and IO_CALLS.fullmatch(called := ast.unparse(node.func)):
                yield f"{path}:{node.lineno}: {called}() outside io"


def _foreign_complaint(part: str, library: str, *, in_kernel: bool) -> str | None:
    if library in IO_LIBRARIES and part != "io":
        return f"{library} outside io"
    if in_kernel and library not in KERNELS_MAY_IMPORT:
        return f"a kernel imports {library}"
    return None


def _own_complaint(path: PurePosixPath, part: str, target: str, *, in_kernel: bool) -> str | None:
    near = _within(target, part) or target.partition(".")[0] in BASE
    kernel_mate = near and any(map(KERNEL.fullmatch, target.split(".")))
    if in_kernel and not (kernel_mate or _within(target, "_compile")):
        return f"a kernel imports {target}"
    if _within(target, part):
        return None
    if not any(_within(target, allowed) for allowed in MAY_IMPORT[part]):
        return f"{part} imports {target}"
    private = any(name.startswith("_") for name in target.split(".")[1:])
    if private and (str(path), target) not in PRIVATE_EXCEPTIONS:
        return f"{part} imports {target}, which is private"
    return None


def _target(name: str) -> str:
    below = name.removeprefix("panfocus").removeprefix(".")
    return below if below.partition(".")[0] in MAY_IMPORT else "__init__"


def _within(target: str, part: str) -> bool:
    return f"{target}.".startswith(f"{part}.")


def _absolute(path: PurePosixPath, node: ast.ImportFrom) -> str:
    here = ["panfocus", *path.parent.parts]
    anchor = here[: len(here) + 1 - node.level] if node.level else []
    return ".".join([*anchor, *([node.module] if node.module else [])])


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def test_the_package_keeps_its_rules():
    broken = [
        violation
        for file in sorted(PACKAGE.rglob("*.py"))
        for violation in violations(
            PurePosixPath(file.relative_to(PACKAGE).as_posix()), file.read_text("utf-8")
        )
    ]
    assert not broken, "\n".join(["", *broken])


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        # a stage looks sideways or up
        ("select/rules.py", "from panfocus.sparse import Pursuit", "select imports sparse.Pursuit"),
        ("gray.py", "def f():\n    from panfocus import methods", "gray imports methods"),
        ("metrics/nmi.py", "import panfocus.gray", "metrics imports gray"),
        ("compose.py", "if TYPE_CHECKING:\n    from panfocus import select", "compose imports select"),
        ("refine/tv_admm.py", "from ..patches import spread", "refine imports patches.spread"),
        ("sparse/omp.py", "import panfocus", "sparse imports __init__"),
        ("dictionary/coupled.py", "from panfocus.io.read import read_image", "imports io.read.read_image"),
        ("dictionary/coupled.py", "from panfocus.select import rules", "dictionary imports select.rules"),
        ("dictionary/ksvd.py", "from panfocus.sparse import _kernel_numpy", "which is private"),
        # the base, methods, io, front ends
        ("_float.py", "from panfocus._checks import frames_array", "_float imports _checks.frames_array"),
        ("methods/coupled.py", "from panfocus.io import read", "methods imports io.read"),
        ("methods/coupled.py", "from panfocus.cli import main", "methods imports cli.main"),
        ("pipeline.py", "import panfocus.io.write as w", "pipeline imports io.write"),
        ("io/read.py", "from panfocus.patches import spread", "io imports patches.spread"),
        ("app/server.py", "class A:\n    def f(self):\n        import panfocus.cli", "app imports cli"),
        ("app/server.py", "from panfocus.compare import run", "app imports compare.run"),
        ("compare/run.py", "from panfocus.cli import main", "compare imports cli.main"),
        ("compare/run.py", "from panfocus.reproduce import check", "compare imports reproduce.check"),
        ("reproduce/run.py", "from panfocus.cli import main", "reproduce imports cli.main"),
        ("reproduce/run.py", "from panfocus.methods import _patchwise", "which is private"),
        ("metrics/nmi.py", "from panfocus.compare import Scene", "metrics imports compare.Scene"),
        ("__init__.py", "from panfocus.pipeline import fuse", "__init__ imports pipeline.fuse"),
        ("novel/thing.py", "", "novel is not in MAY_IMPORT"),
        # kernels
        (
            "refine/_operators.py",
            "from panfocus.errors import InputError",
            "a kernel imports errors.InputError",
        ),
        ("sparse/_kernel_numba.py", "from panfocus.sparse import omp", "a kernel imports sparse.omp"),
        ("dictionary/_update_numba.py", "import logging", "a kernel imports logging"),
        # files
        ("cli/fuse.py", "text = open('notes').read()", "open() outside io"),
        ("cli/fuse.py", "with path.open('rb') as file: ...", "path.open() outside io"),
        ("pipeline.py", "Path('notes').write_text('')", "Path('notes').write_text() outside io"),
        ("dictionary/coupled.py", "np.load(path)", "np.load() outside io"),
        (
            "sparse/omp.py",
            "def f():\n    numpy.savez_compressed(path)",
            "numpy.savez_compressed() outside io",
        ),
        ("gray.py", "from PIL import Image", "PIL outside io"),
        ("app/jobs.py", "import tifffile", "tifffile outside io"),
    ],
)
def test_a_broken_rule_is_named_with_file_and_line(path, source, complaint):
    (found,) = violations(PurePosixPath(path), source)
    assert found.startswith(f"{path}:{max(1, len(source.splitlines()))}: ")
    assert complaint in found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("dictionary/coupled.py", "from panfocus.io.dictionary_file import read_dictionary_file"),
        ("dictionary/coupled.py", "from importlib.resources import as_file, files"),
        (
            "dictionary/learning.py",
            "from panfocus.sparse import Pursuit\nfrom panfocus.dictionary import _update_numba",
        ),
        ("sparse/_kernel_numba.py", "import numba\nfrom panfocus.sparse._limits import ROUNDING"),
        ("refine/tv_admm.py", "from . import _operators\nfrom .._float import FloatArray"),
        (
            "methods/coupled.py",
            "from panfocus.dictionary import CoupledDictionary\nCoupledDictionary.load(path)",
        ),
        ("cli/fuse.py", "def fuse():\n    from panfocus import __version__, io, pipeline"),
        ("cli/compare.py", "def compare():\n    from panfocus.compare import run"),
        ("cli/reproduce.py", "def reproduce():\n    from panfocus.reproduce import check"),
        ("reproduce/tables.py", "from panfocus.compare.scoring import score_pictures"),
        (
            "compare/report.py",
            "from panfocus import io, metrics, pipeline\nfrom panfocus.methods import get_method",
        ),
        ("__init__.py", "def __getattr__(name):\n    from panfocus.pipeline import fuse"),
        ("io/read.py", "import tifffile\nfrom panfocus.stack import Stack\npath.read_bytes()\nopen(path)"),
    ],
)
def test_what_the_rules_allow_passes(path, source):
    assert list(violations(PurePosixPath(path), source)) == []
