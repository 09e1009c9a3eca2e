"""Arrays in numpy's .npy format, as inside .npz files, read without pickle."""

import io
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from panfocus.errors import FileError


def parse_array(data: bytes) -> NDArray[Any]:
    """Return an array of .npy data; numpy's reader would allocate any claimed shape."""
    file = io.BytesIO(data)
    npy.read_magic(file)
    shape, fortran_order, dtype = npy.read_array_header_1_0(file)
    if dtype.hasobject:
        raise FileError("The file contains Python objects (pickle), which are never read.", problem="pickle")
    values = np.frombuffer(data, dtype, offset=file.tell())
    return values.reshape(shape, order="F" if fortran_order else "C")
