"""Files that are either whole or not there."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any
from xml.parsers import expat

from graphcondense.errors import GraphcondenseError


def write_aside(path: Path, content: bytes) -> Path:
    """Write beside ``path``, flush, rename: a crash leaves the old file or the new one, never half of one."""
    aside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(aside).chmod(0o644)
        Path(aside).replace(path)
    except BaseException as error:
        if aside is not None:
            Path(aside).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise GraphcondenseError(f"cannot write {path}: {error.strerror or error}") from None
        raise
    return path


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text from outside; a ``ValueError`` for whatever is wrong with it, also endless nesting."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def refuse_doctype(content: bytes) -> None:
    """Raise a ``ValueError`` for XML that declares a document type: entities come by it, and graphs need none.

    >>> refuse_doctype(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    Traceback (most recent call last):
    ...
    ValueError: it declares a document type, by which a few bytes can become gigabytes: remove the DOCTYPE
    """

    def refuse(*declared: object) -> None:
        raise ValueError("it declares a document type, by which a few bytes can become gigabytes: remove the DOCTYPE")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise ValueError(f"it is not XML ({error})") from None


def write_json(path: Path, value: Any) -> Path:
    """``value`` as readable JSON, written aside."""
    return write_aside(path, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode())
