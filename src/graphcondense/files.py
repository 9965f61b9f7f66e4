"""Files that are either whole or not there."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from graphcondense.errors import GraphcondenseError

_DEEPEST = 50


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


def check_xml(content: bytes) -> None:
    """Raise a ``ValueError`` unless ``content`` is well-formed XML without a document type and without deep nesting.

    A document type is where entity bombs and references to other files are declared, and graphs need none.

    >>> check_xml(b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    Traceback (most recent call last):
    ...
    ValueError: declares a document type or an entity (DOCTYPE), which is not safe: remove it
    """
    depth = 0

    def refuse(*_: object) -> NoReturn:
        raise ValueError("declares a document type or an entity (DOCTYPE), which is not safe: remove it")

    def start(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise ValueError(f"is nested more than {_DEEPEST} levels deep: write it anew")

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError) as error:
        raise ValueError(f"is not XML ({type(error).__name__}: {error}): write it anew") from None


def write_json(path: Path, value: Any) -> Path:
    """``value`` as readable JSON, written aside."""
    return write_aside(path, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode())
