"""Where datasets are looked for, and where what we derive from them goes.

Two folders, which may be the same one. The *data root* holds raw files in the layouts of PyG and OGB and is only ever
read. The *cache root* takes what we download or compute.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphcondense.datasets.arrays import read_npz

DATA_VARIABLE = "GRAPHCONDENSE_DATA"
CACHE_VARIABLE = "GRAPHCONDENSE_CACHE"
HOW_TO_POINT = f"set --data-root or ${DATA_VARIABLE} to the folder that has it"


def data_root(explicit: str | Path | None = None) -> Path:
    """The folder with the raw datasets: ``explicit``, else ``$GRAPHCONDENSE_DATA``, else ``~/.cache/graphcondense``.

    It need not exist: whoever misses a file in it names the file.

    >>> data_root(".") == Path.cwd()
    True
    """
    named = explicit if explicit is not None else os.environ.get(DATA_VARIABLE)
    return Path(named).expanduser().absolute() if named else _home_cache()


def cache_root() -> Path:
    """The folder for downloads and derived files: ``$GRAPHCONDENSE_CACHE``, else ``~/.cache/graphcondense``."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser().absolute() if named else _home_cache()


def _home_cache() -> Path:
    return Path.home() / ".cache" / "graphcondense"


def write_array(path: Path, array: NDArray[np.generic]) -> bool:
    """Write ``array`` as an ``.npz`` file, aside and then renamed, so that no reader ever sees half of it.

    Returns:
        Whether it worked. A cache that cannot be written costs time and nothing else, so that is not an error.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.stem, suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            np.savez(file, array=array)
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        return False
    return True


def read_array(path: Path) -> NDArray[np.generic] | None:
    """The array of a cached ``.npz`` file; ``None`` if it is not there or is damaged, so that it is made again."""
    try:
        return read_npz(path, ("array",))["array"]
    except (OSError, KeyError, ValueError):
        return None
