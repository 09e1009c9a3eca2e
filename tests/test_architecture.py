"""Check every import of the package against the layers that CONTRIBUTING.md describes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "panfocus"

# Layers from the bottom up. A part imports parts of lower layers, never its own layer or a higher one.
# Imports count wherever they are: at the top of a module, inside a function, or under TYPE_CHECKING.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("stack", "_numba", "_progress", "_memory"),
    ("_downscale", "_intensity", "_kernel_filters"),
    ("_checks", "_filters", "result"),
    ("_threads",),
    ("parallel",),
    ("preprocess",),
    ("io", "sparse", "registration", "decide", "refine", "retouch", "metrics", "simulate"),
    ("dictionary",),
    ("methods",),
    ("tiling", "show"),
    ("slabs", "channels"),
    ("pipeline",),
    ("job",),
    ("batch", "tiled_store", "compare"),
    ("reproduce", "app", "napari_plugin"),
    ("cli",),
    ("__main__",),
)
# Exceptions: (importing part, imported module) and the reason.
EXCEPTIONS = {
    ("result", "io.encode"): "`FusionResult.save` writes the image",
    ("app", "__init__"): "the page shows the version",
    ("cli", "__init__"): "the command prints the version",
    ("parallel", "__init__"): "workers compare their version",
    ("batch", "__init__"): "results record the version",
    ("tiled_store", "__init__"): "results record the version",
    ("compare", "__init__"): "results record the version",
    ("reproduce", "__init__"): "results record the version",
    ("napari_plugin", "__init__"): "the report records the version",
    ("cli", "sparse._kernel_numba"): "`panfocus doctor` prints where compiled code is cached",
}
LAYER_OF = {part: level for level, parts in enumerate(LAYERS) for part in parts}

# Kernels take arrays and numbers: no settings, no logging, no paths, no errors of the package.
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

# Only `io` reads and writes image files; `show` draws text with Pillow.
CODECS = {"imagecodecs": ("io",), "PIL": ("io", "show"), "rawpy": ("io",), "tifffile": ("io",)}


def imported_names(path: PurePosixPath, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the full dotted name of every import, such as panfocus.io.tiff.read_tiff."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield node.lineno, alias.name
            case ast.ImportFrom():
                package = ["panfocus", *path.parent.parts]
                parents = package[: len(package) + 1 - node.level] if node.level else []
                module = ".".join([*parents, *([node.module] if node.module else [])])
                for alias in node.names:
                    yield node.lineno, f"{module}.{alias.name}"


def violations(path: PurePosixPath, source: str) -> Iterator[str]:
    """Yield one line for each import in a module that breaks a rule; `path` is relative to src/panfocus."""
    part = path.parts[0].removesuffix(".py")
    if part == "__init__":
        return  # the public names, imported when first used
    if part not in LAYER_OF:
        yield f"{path}:1: add {part} to LAYERS"
        return
    in_kernel = KERNEL.fullmatch(path.stem) is not None
    for line, name in imported_names(path, ast.parse(source)):
        if name.partition(".")[0] == "panfocus":
            problem = _internal_problem(
                part, name.removeprefix("panfocus").removeprefix("."), in_kernel=in_kernel
            )
        else:
            problem = _external_problem(part, name.partition(".")[0], in_kernel=in_kernel)
        if problem:
            yield f"{path}:{line}: {problem}"


def _internal_problem(part: str, target: str, *, in_kernel: bool) -> str | None:
    imported = target.partition(".")[0]
    if imported not in LAYER_OF:
        imported = target = "__init__"
    if in_kernel and imported != "_numba" and not any(map(KERNEL.fullmatch, target.split("."))):
        return f"a kernel imports {target}"
    if imported == part or any(
        part == who and f"{target}.".startswith(f"{what}.") for who, what in EXCEPTIONS
    ):
        return None
    if imported == "__init__" or LAYER_OF[imported] >= LAYER_OF[part]:
        return f"{part} imports {target}"
    if any(name.startswith("_") for name in target.split(".")[1:]):
        return f"{part} imports {target}, which is private"
    return None


def _external_problem(part: str, library: str, *, in_kernel: bool) -> str | None:
    if library in CODECS and part not in CODECS[library]:
        return f"{part} imports {library}; only io uses codecs"
    if in_kernel and library not in KERNELS_MAY_IMPORT:
        return f"a kernel imports {library}"
    return None


def test_package_follows_the_layers():
    broken = [
        violation
        for file in sorted(PACKAGE.rglob("*.py"))
        for violation in violations(
            PurePosixPath(file.relative_to(PACKAGE).as_posix()), file.read_text("utf-8")
        )
    ]
    assert not broken, "\n".join(["", *broken])


def test_package_has_no_unused_exceptions():
    parts = {file.relative_to(PACKAGE).parts[0].removesuffix(".py") for file in PACKAGE.rglob("*.py")}
    assert set(LAYER_OF) == parts - {"__init__"}


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("decide/rules.py", "from panfocus.sparse import Pursuit"),  # its own layer
        ("decide/gray.py", "def f():\n    from panfocus import methods"),  # a higher layer, inside a function
        ("decide/compose.py", "if TYPE_CHECKING:\n    from panfocus import pipeline"),  # for types only
        ("refine/tv_admm.py", "from ..decide import patches"),  # relative
        ("sparse/omp.py", "import panfocus"),  # the public names
        ("dictionary/ksvd.py", "from panfocus.sparse import _kernel_numba"),  # private
        ("app/server.py", "class A:\n    def f(self):\n        import panfocus.cli"),
        ("novel/thing.py", "import math"),  # an unknown part
        ("refine/_operators.py", "from panfocus.errors import InputError"),  # a kernel
        ("dictionary/_update_numba.py", "import logging"),  # a kernel
        ("app/jobs.py", "import tifffile"),  # a codec
    ],
)
def test_broken_rule_is_reported(path, source):
    (found,) = violations(PurePosixPath(path), source)
    assert found.startswith(f"{path}:")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("dictionary/coupled.py", "from panfocus.io.dictionary_file import read_dictionary_file"),
        ("sparse/_kernel_numba.py", "import numba\nfrom panfocus.sparse._limits import ROUNDING"),
        ("methods/coupled.py", "from panfocus.dictionary import CoupledDictionary"),
        ("reproduce/tables.py", "from panfocus.compare.scoring import score_images"),
        ("__init__.py", "def __getattr__(name):\n    from panfocus.pipeline import fuse"),
        ("io/read.py", "import tifffile\nfrom panfocus.stack import Stack"),
    ],
)
def test_allowed_import_passes(path, source):
    assert list(violations(PurePosixPath(path), source)) == []
