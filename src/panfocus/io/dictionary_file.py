"""Dictionary files: a zip of two plain arrays, `levels` and a JSON `header`. No pickle is read or written."""

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

FORMAT_VERSION = 1

_MEMBERS = ("levels.npy", "header.npy")
_SIZES = ("n_levels", "patch_size", "n_atoms")
_WHOLE_NUMBER = ((int,), "a whole number")
_HEADER_TYPES: dict[str, tuple[tuple[type, ...], str]] = dict.fromkeys(_SIZES, _WHOLE_NUMBER) | {
    "settings": ((dict,), "an object"),
    "seed": ((int, type(None)), "a whole number or null"),
    "origin": ((str,), "a text"),
}
# Of all levels together: coding holds their inner products, 4 bytes for each two atoms, which makes 256 MB.
MAX_TOTAL_ATOMS = 8192
# A hundred times the shipped dictionary; a file that claims more is an attack or a mistake.
_MAX_BYTES = 64 << 20
_NORM_TOLERANCE = 1e-3
# The zip format's first day, on every file: equal content gives equal bytes.
_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def write_dictionary_file(
    path: str | Path, levels: NDArray[np.float32], header: dict[str, Any], *, force: bool = False
) -> None:
    """Write atoms (n_levels, patch_size ** 2, n_atoms), unit columns, and what is known about them."""
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
    """Refuse more atoms than coding has memory for."""
    if n_levels * n_atoms > MAX_TOTAL_ATOMS:
        raise InputError(
            f"{describe_sizes(n_levels, n_atoms)} are more than {MAX_TOTAL_ATOMS} atoms in all, "
            "whose inner products would take too much memory"
        )


def describe_sizes(n_levels: int, n_atoms: int) -> str:
    """Write them for people."""
    return f"{n_levels} {'level' if n_levels == 1 else 'levels'} of {n_atoms} atoms"


def read_dictionary_file(path: str | Path) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Read the atoms and the header of a dictionary file, or say what is wrong with it."""
    path = Path(path)
    with add_path_to_errors(path):
        check_regular(path)
        return _read(path)


def _read(path: Path) -> tuple[NDArray[np.float32], dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        if sorted(archive.namelist()) != sorted(_MEMBERS):
            raise FileError(f"not a dictionary: it does not hold exactly {' and '.join(_MEMBERS)}")
        # zipfile never unpacks more than a member declares, so that the declared sizes are a sure bound.
        if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
            raise FileError(f"not a dictionary: it unpacks to more than {_MAX_BYTES >> 20} MB")
        levels, text = (_parse_array(archive.read(name)) for name in _MEMBERS)
        header = _parse_header(text.tobytes())
        _check_levels(levels, *(header[name] for name in _SIZES))
        return levels, header


def _parse_array(data: bytes) -> NDArray[Any]:
    """Parse an .npy member without numpy's own reader, which believes any shape and allocates it."""
    file = io.BytesIO(data)
    npy.read_magic(file)
    shape, fortran_order, dtype = npy.read_array_header_1_0(file)
    if dtype.hasobject:
        raise FileError("it holds Python objects (pickle), which are never read")
    values = np.frombuffer(data, dtype, offset=file.tell())
    return values.reshape(shape, order="F" if fortran_order else "C")


def _parse_header(text: bytes) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(text)
    version = header.get("format_version") if isinstance(header, dict) else None
    if type(version) is not int or version < 1:
        raise FileError("not a dictionary: its header has no format version")
    if version > FORMAT_VERSION:
        raise FileError(
            f"dictionary format {version} is newer than this panfocus, "
            f"which reads up to {FORMAT_VERSION}; update panfocus"
        )
    for name, (kinds, wanted) in _HEADER_TYPES.items():
        if name not in header:
            raise FileError(f"its header has no {name}")
        if type(header[name]) not in kinds:
            raise FileError(f"{name} in its header must be {wanted}")
    return header


def _check_levels(levels: NDArray[Any], n_levels: int, patch_size: int, n_atoms: int) -> None:
    promised = (n_levels, patch_size**2, n_atoms)
    if n_levels < 1 or n_atoms < 1:
        raise FileError(f"it has {describe_sizes(n_levels, n_atoms)}; needed: at least one of each")
    check_total_atoms(n_levels, n_atoms)
    if levels.dtype != np.float32 or levels.shape != promised:
        raise FileError(f"its atoms are {levels.dtype} {levels.shape}, its header says float32 {promised}")
    if not np.isfinite(levels).all():
        raise FileError("its atoms hold NaN or infinite values")
    norms = np.linalg.norm(levels, axis=1)
    if np.abs(norms - 1).max() > _NORM_TOLERANCE:
        raise FileError("its atoms are not of unit length")
