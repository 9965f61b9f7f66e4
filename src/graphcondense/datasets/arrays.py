"""NumPy's files from anywhere: no object in them, and no more memory than their own size explains."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

_FREE_BYTES = 2**24  # that any file may unpack to; more only in proportion to its size
_MOST_RATIO = 100  # bytes that a byte of a file may stand for: text of numbers has 2 to 20, a bomb has 1,000


def most_bytes(packed: int) -> int:
    """Bytes that a file of ``packed`` bytes may stand for."""
    return _FREE_BYTES + _MOST_RATIO * packed


def read_npz(file: Path, names: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file, those in ``names`` alone if given.

    Raises ``OSError`` where it cannot be read, ``KeyError`` for a name that it lacks, ``ValueError`` for all else.
    """
    try:
        with zipfile.ZipFile(file) as content:
            members = {info.filename.removesuffix(".npy"): info for info in content.infolist()}
            wanted = members if names is None else {name: members[name] for name in names}
            if sum(info.file_size for info in wanted.values()) > most_bytes(file.stat().st_size):
                raise ValueError("it would unpack to far more than its size explains")
            arrays = {}
            for name, info in wanted.items():
                with content.open(info) as stream:
                    arrays[name] = _read_array(stream, info.file_size)
            return arrays
    except (KeyError, OSError, ValueError):
        raise
    except Exception as error:
        # A damaged zip raises any of half a dozen types from zipfile, zlib, struct and numpy.
        raise ValueError(str(error) or type(error).__name__) from None


def read_npy(file: Path) -> NDArray[Any]:
    """The array of an ``.npy`` file; raises as :func:`read_npz` does."""
    with file.open("rb") as stream:
        return _read_array(stream, file.stat().st_size)


def _read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """One array of ``size`` bytes with its header; what the header says is believed only if that is the size."""
    try:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"NumPy's format {version}")
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = header(stream)
    except (SyntaxError, TypeError, RecursionError, MemoryError, OverflowError, EOFError):
        raise ValueError("a header that cannot be read") from None
    if dtype.hasobject:
        raise ValueError("an array of Python objects, which are never read")
    if any(length < 0 for length in shape) or len(shape) > 8:
        raise ValueError(f"an array of shape {shape}")
    needed = math.prod(shape) * dtype.itemsize
    content = stream.read(max(0, size) + 1)
    if len(content) != needed:
        raise ValueError(f"{len(content)} bytes for an array of {needed}")
    if not dtype.itemsize:
        raise ValueError(f"an array of {dtype}, which takes no bytes")
    flat = np.frombuffer(content, dtype=dtype)
    return flat.reshape(shape[::-1]).T.copy() if by_columns else flat.reshape(shape).copy()


def csr_matrix(arrays: dict[str, NDArray[Any]], prefix: str = "") -> sparse.csr_matrix:
    """The sparse matrix in ``data``, ``indices``, ``indptr`` and ``shape``; every index is checked, for SciPy's
    compiled code does not."""
    data, indices, indptr, shape = (arrays[prefix + name] for name in ("data", "indices", "indptr", "shape"))
    rows, columns = (int(length) for length in shape)
    if not all(a.ndim == 1 for a in (data, indices, indptr)) or data.dtype.kind not in "biuf":
        raise ValueError("a sparse matrix that is not made of rows of numbers")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError("a sparse matrix whose indices are not whole numbers")
    indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if rows < 0 or columns < 0 or len(indptr) != rows + 1 or len(indices) != len(data):
        raise ValueError("a sparse matrix whose parts disagree")
    if indptr[0] != 0 or indptr[-1] != len(indices) or bool((np.diff(indptr) < 0).any()):
        raise ValueError("a sparse matrix whose rows are out of order")
    if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < columns:
        raise ValueError("a sparse matrix with an index outside of it")
    return sparse.csr_matrix((data, indices, indptr), (rows, columns))


def dense(matrix: sparse.csr_matrix) -> NDArray[np.float32]:
    """The matrix with its zeros, if there is memory for it that the file explains."""
    held = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    if 4 * math.prod(matrix.shape) > most_bytes(held):
        raise ValueError(f"a matrix of {matrix.shape[0]:,} x {matrix.shape[1]:,} with {matrix.nnz:,} numbers in it")
    made: NDArray[np.float32] = matrix.astype(np.float32).toarray()
    return made
