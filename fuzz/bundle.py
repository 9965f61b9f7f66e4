"""Several files in one input, in a form that survives mutation: a line ``@@ NAME`` before each.

What is packed is stored plain, so that mutations reach the reader behind the packing: ``edge.csv.gz`` is compressed
when it is laid out, ``a.npz/x.npy`` becomes a member of the zip file ``a.npz`` (also ``.pt``), and
``a.safetensors/header`` and ``a.safetensors/data`` become one file with the right length in front.
"""

from __future__ import annotations

import gzip
import io
import re
import struct
import zipfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import Path

_MARK = b"@@ "
_MEMBERS = (".npz", ".pt", ".safetensors")


def pack(files: Mapping[str, bytes]) -> bytes:
    """One input of several files."""
    return b"\n".join(_MARK + name.encode() + b"\n" + content for name, content in files.items())


def unpack(blob: bytes) -> dict[str, bytes]:
    """The files of an input; of two with one name, the last."""
    files = {}
    for part in (b"\n" + blob).split(b"\n" + _MARK)[1:]:
        name, _, content = part.partition(b"\n")
        files[name.decode("latin1")] = content
    return files


def apart(name: str, content: bytes) -> dict[str, bytes]:
    """A packed file as the parts that :func:`lay_out` puts together again."""
    if name.endswith(".gz"):
        return {name: gzip.decompress(content)}
    if name.endswith(".safetensors"):
        length = struct.unpack("<Q", content[:8])[0]
        return {f"{name}/header": content[8 : 8 + length], f"{name}/data": content[8 + length :]}
    if name.endswith(_MEMBERS):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {f"{name}/{member}": archive.read(member) for member in archive.namelist()}
    return {name: content}


def lay_out(blob: bytes, folder: Path, patterns: Iterable[str]) -> None:
    """Write the files of an input whose names fit one of ``patterns`` into ``folder``, never beside it."""
    packed: dict[str, dict[str, bytes]] = {}
    for name, content in unpack(blob).items():
        top, _, member = name.partition("/")
        if not re.fullmatch(r"[\w.-]{1,80}", top) or not any(fnmatch(top, pattern) for pattern in patterns):
            continue
        if member and top.endswith(_MEMBERS):
            packed.setdefault(top, {})[member] = content
        elif top.endswith(".gz") and content[:2] != b"\x1f\x8b":
            (folder / top).write_bytes(gzip.compress(content, 1, mtime=0))
        elif top not in ("", ".", ".."):
            (folder / top).write_bytes(content)
    for top, members in packed.items():
        (folder / top).write_bytes(_tensors(members) if top.endswith(".safetensors") else _zipped(members))


def _tensors(members: Mapping[str, bytes]) -> bytes:
    header = members.get("header", b"{}")
    return struct.pack("<Q", len(header)) + header + members.get("data", b"")


def _zipped(members: Mapping[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, value in members.items():
            try:
                archive.writestr(zipfile.ZipInfo(name), value)
            except ValueError:  # a name that zip files cannot have
                continue
    return content.getvalue()
