"""What no reader may do, whatever it reads: run code, open files elsewhere, call the network, or eat the memory."""

from __future__ import annotations

import platform
import resource
import signal
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import graphcondense

MOST_BYTES = 512 * 2**20
"""That reading a small input may add to the memory of the process."""
MOST_SECONDS = 20
_FORBIDDEN = (
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.putenv", "subprocess.Popen"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "urllib.Request", "pickle.find_class", "ctypes.dlopen"),
    *("os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "os.symlink", "os.link", "os.chmod", "os.truncate"),
)
_ELSEWHERE = tuple(
    str(Path(path).resolve())
    for path in {
        *sysconfig.get_paths().values(),
        sys.prefix,
        sys.base_prefix,
        "/proc",
        "/sys",
        "/dev/null",
        "/dev/urandom",
    }
)


_OWN = str(Path(graphcondense.__file__).parent)  # presets and templates
platform.platform()  # runs a program the first time


class Misbehaved(BaseException):
    """A reader did what none may do; no reader's ``except`` catches it."""


class _Watch:
    """One hook for the whole process: audit hooks cannot be taken away again."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.found: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in ("open", "os.remove", "os.rename", "os.rmdir", "os.chmod", "shutil.rmtree", "os.truncate"):
            for path in arguments[: 2 if event == "os.rename" else 1]:
                if isinstance(path, str | bytes) and not self._ours(path, event):
                    self.found.append(f"{event} {path!r}")
        elif event.startswith(_FORBIDDEN):
            self.found.append(f"{event} {arguments!r}"[:200])

    def _ours(self, path: str | bytes, event: str) -> bool:
        text = path.decode(errors="replace") if isinstance(path, bytes) else path
        if event != "open" and not text.startswith("/"):  # within a folder that was opened before, which was looked at
            return ".." not in Path(text).parts
        place = Path(text).absolute()
        inside = (str(self.folder), tempfile.gettempdir() + "/tmp")  # what a reader makes aside for itself
        allowed = (*inside, *_ELSEWHERE, _OWN) if event == "open" else inside
        return str(place).startswith(allowed) and ".." not in place.parts


_watch: _Watch | None = None


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Raise :class:`Misbehaved` if what runs within does what no reader may do."""
    global _watch
    _watch = _watch or _Watch()
    before = _peak()
    _watch.folder, _watch.found = folder, []
    previous = signal.signal(signal.SIGALRM, _too_slow)
    signal.alarm(MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        _watch.folder = None
    if _watch.found:
        raise Misbehaved(_watch.found[0])
    if _peak() - before > MOST_BYTES:
        raise Misbehaved(f"{(_peak() - before) / 2**20:.0f} MB of memory")


def _too_slow(number: int, frame: object) -> None:
    raise Misbehaved(f"more than {MOST_SECONDS} seconds")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
