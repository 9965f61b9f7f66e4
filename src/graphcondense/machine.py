"""What this machine has."""

from __future__ import annotations

import os
import sys


def physical_memory() -> int:
    """Bytes of memory that this machine has; endless where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize
