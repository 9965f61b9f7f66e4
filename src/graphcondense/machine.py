"""What this machine has, and how its memory is handed out."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

from graphcondense.errors import InputError

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_KEPT_BYTES = 2**30


def physical_memory() -> int:
    """Bytes of memory that this machine has; endless where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def check_fits(needed: int, what: str, remedy: str) -> None:
    """Raise if ``needed`` bytes for ``what`` are more than this machine has."""
    if needed > (available := physical_memory()):
        raise InputError(f"{what} need about {needed / 1e9:.0f} GB, this machine has {available / 1e9:.0f}: {remedy}")


@cache
def keep_freed_memory() -> bool:
    """Let the C library keep the memory that tensors give back, for the next ones; whether it could be told to.

    By default glibc returns blocks of some megabytes to the system at once, and every new tensor then costs a page
    fault every four kilobytes: half of the time of a network's step on large graphs. Only memory below one gigabyte
    is kept. ``GRAPHCONDENSE_KEEP_MEMORY=0`` leaves the process as it is.
    """
    if os.environ.get("GRAPHCONDENSE_KEEP_MEMORY", "1") == "0" or sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return all([mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES) == 1, mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES) == 1])
