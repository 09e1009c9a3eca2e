"""Dictionary files: a zip of two arrays, `levels` and a JSON `header`, without pickle."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from panfocus.errors import FileError, InputError
from panfocus.io.atomic_files import check_suffix, write_files
from panfocus.io.file_errors import add_path_to_errors, check_regular
from panfocus.io.npy import parse_array

FORMAT_VERSION = 1

_MEMBERS = ("levels.npy", "header.npy")
_SIZES = ("n_levels", "patch_size", "n_atoms")
_WHOLE_NUMBER = ((int,), "a whole number")
_HEADER_TYPES: dict[str, tuple[tuple[type, ...], str]] = dict.fromkeys(_SIZES, _WHOLE_NUMBER) | {
    "settings": ((dict,), "an object"),
    "seed": ((int, type(None)), "a whole number or null"),
    "origin": ((str,), "a text"),
}
# Of all levels together. Coding holds their inner products, 4 bytes for each pair of atoms: 256 MB.
MAX_TOTAL_ATOMS = 8192
# A hundred times the shipped dictionary; a larger file is an attack or a mistake.
_MAX_BYTES = 64 << 20
_NORM_TOLERANCE = 1e-3
# The zip format's first day in every file, so that equal content gives equal bytes.
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def write_dictionary_file(
    path: str | Path, levels: NDArray[np.float32], header: dict[str, Any], *, force: bool = False
) -> None:
    """Write atoms (n_levels, patch_size ** 2, n_atoms), whose columns have unit length, and a header."""
    path = Path(path)
    check_suffix(path, (".npz",))
    check_total_atoms(levels.shape[0], levels.shape[2])
    text = json.dumps({"format_version": FORMAT_VERSION, **header}, sort_keys=True)
    arrays: list[NDArray[Any]] = [
        np.ascontiguousarray(levels, np.float32),
        np.frombuffer(text.encode(), np.uint8),
    ]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in zip(_MEMBERS, arrays, strict=True):
            member = io.BytesIO()
            npy.write_array(member, array, version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(name, _TIMESTAMP), member.getvalue(), zipfile.ZIP_DEFLATED)
    write_files({path: buffer.getvalue()}, force=force)


def check_total_atoms(n_levels: int, n_atoms: int) -> None:
    """Raise for more atoms than coding has memory for."""
    if n_levels * n_atoms > MAX_TOTAL_ATOMS:
        sizes = describe_sizes(n_levels, n_atoms)
        message = f"A dictionary can have {MAX_TOTAL_ATOMS} atoms in all, got {sizes}."
        raise InputError(message, limit=MAX_TOTAL_ATOMS, got=n_levels * n_atoms)


def describe_sizes(n_levels: int, n_atoms: int) -> str:
    """Return a text such as "2 levels of 64 atoms"."""
    return f"{n_levels} {'level' if n_levels == 1 else 'levels'} of {n_atoms} atoms"


def read_dictionary_file(path: str | Path) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Return the atoms and the header of a dictionary file."""
    path = Path(path)
    with add_path_to_errors(path):
        check_regular(path)
        with path.open("rb") as file:
            if not file.read(4).startswith(b"PK"):
                raise FileError("This is not a dictionary file (.npz).", problem="damaged")
        return _read(path)


def _read(path: Path) -> tuple[NDArray[np.float32], dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        if sorted(archive.namelist()) != sorted(_MEMBERS):
            message = f"This is not a dictionary: it must contain {' and '.join(_MEMBERS)} only."
            raise FileError(message, problem="members")
        # zipfile never unpacks more than a member declares.
        if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
            message = f"This is not a dictionary: it unpacks to more than {_MAX_BYTES >> 20} MB."
            raise FileError(message, limit=_MAX_BYTES)
        levels, text = (parse_array(archive.read(name)) for name in _MEMBERS)
        header = _parse_header(text.tobytes())
        _check_levels(levels, *(header[name] for name in _SIZES))
        return levels, header


def _parse_header(text: bytes) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(text)
    version = header.get("format_version") if isinstance(header, dict) else None
    if type(version) is not int or version < 1:
        raise FileError("This is not a dictionary: its header has no format version.", key="format_version")
    if version > FORMAT_VERSION:
        message = f"The dictionary has format {version}; this version reads up to {FORMAT_VERSION}."
        raise FileError(message, got=version)
    for name, (kinds, needed) in _HEADER_TYPES.items():
        if name not in header:
            raise FileError(f"The header has no {name}.", key=name)
        if type(header[name]) not in kinds:
            raise FileError(f"The header's {name} must be {needed}.", key=name)
    return header


def _check_levels(levels: NDArray[Any], n_levels: int, patch_size: int, n_atoms: int) -> None:
    if n_levels < 1 or n_atoms < 1:
        message = f"The dictionary has {describe_sizes(n_levels, n_atoms)}; at least one of each is needed."
        raise FileError(message, got=n_levels * n_atoms)
    check_total_atoms(n_levels, n_atoms)
    got, needed = f"{levels.dtype} {levels.shape}", f"float32 {(n_levels, patch_size**2, n_atoms)}"
    if got != needed:
        raise FileError(f"The atoms are {got}; the header says {needed}.", got=got, needed=needed)
    if not np.isfinite(levels).all():
        raise FileError("The atoms contain NaN or infinite values.", problem="not finite")
    norms = np.linalg.norm(levels, axis=1)
    if np.abs(norms - 1).max() > _NORM_TOLERANCE:
        raise FileError("The atoms do not have unit length.", problem="norm")
