"""Being asked to end: once means after this iteration, twice means now."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ONE_WISH = 1.0  # seconds within which several signals are one: a terminal tells torchrun and us, and torchrun us again


class Interrupts:
    """Remembers that the user (or the system) asked for the end, instead of ending in the middle of something.

    Args:
        tell: is given a line for the user when asked for the first time.
    """

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        self.asked, self._tell = False, tell
        self._when = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def watch(self) -> None:
        """From now on; only the main thread can."""
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._heard) for one in _SIGNALS}

    def leave(self) -> None:
        """No more: signals do what they did before."""
        for one, handler in self._before.items():
            signal.signal(one, handler)
        self._before = {}

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.asked and time.monotonic() - self._when > _ONE_WISH:
            raise KeyboardInterrupt
        if not self.asked:
            self.asked, self._when = True, time.monotonic()
            if self._tell is not None:
                self._tell("finishing this iteration, then saving; once more stops at once")
