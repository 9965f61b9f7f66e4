"""Cora, Citeseer and Pubmed in the files of Planetoid (Yang et al., 2016), which are pickles, without unpickling.

A pickle can call any function of any module. Here it can only name the few kinds of value that these files are made
of, each of which is an empty stand-in of ours: nothing from the file is ever called, and what it holds is checked
before it becomes an array.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.io.planetoid import edge_index_from_dict
from torch_geometric.utils import index_to_mask

from graphcondense.datasets.arrays import csr_matrix, dense
from graphcondense.datasets.textfiles import read_column
from graphcondense.errors import FileFormatError, MissingDataError

_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph")
_VALIDATION = 500  # nodes after the training nodes
_TEST = 1000


def read_planetoid(folder: Path) -> Data:
    """The graph with its public split, as PyG's ``read_planetoid_data`` gives it."""
    index = next(iter(sorted(folder.glob("ind.*.test.index"))), None)
    if index is None:
        raise MissingDataError(f"{folder} has no file ind.NAME.test.index: name the folder that has it")
    name = index.name.removeprefix("ind.").removesuffix(".test.index")
    test = torch.from_numpy(read_column(index))
    if len(test) != _TEST:
        raise FileFormatError(f"{index} is too short: fetch it anew")
    parts: dict[str, Any] = {}
    for part in _PARTS:
        file = folder / f"ind.{name}.{part}"
        try:
            content = file.read_bytes()
        except OSError as error:
            raise MissingDataError(f"{file} is missing or cannot be read ({error.strerror}): put it there") from None
        try:
            value = harmless(content)
            parts[part] = _neighbours(value) if part == "graph" else _matrix(value)
        except (ValueError, KeyError) as error:
            raise FileFormatError(
                f"{file} is damaged, or not a file of Planetoid ({' '.join(str(error).split())[:80]}): fetch it anew"
            ) from None
    try:
        return _assembled(parts, test, name.lower() == "citeseer")
    except (ValueError, IndexError, RuntimeError) as error:
        raise FileFormatError(
            f"{folder} has files that do not fit together ({' '.join(str(error).split())[:80]}): fetch them anew"
        ) from None


class _Named:
    """What a pickle of these files may name: an empty object that takes what it is given."""

    known: ClassVar[dict[tuple[str, str], str]] = {
        ("collections", "defaultdict"): "dict",
        ("__builtin__", "list"): "list",
        ("builtins", "list"): "list",
        ("numpy", "ndarray"): "kind",
        ("numpy", "dtype"): "dtype",
        **{
            (f"numpy.{core}.multiarray", name): kind
            for core in ("core", "_core")
            for name, kind in (("_reconstruct", "array"), ("scalar", "number"))
        },
        **{(f"scipy.sparse.{m}", "csr_matrix"): "matrix" for m in ("csr", "_csr")},
        ("_codecs", "encode"): "bytes",
        ("copy_reg", "_reconstructor"): "object",
        ("copyreg", "_reconstructor"): "object",
        ("__builtin__", "object"): "kind",
        ("builtins", "object"): "kind",
    }

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.made = False
        self.arguments: tuple[Any, ...] = ()
        self.state: Any = None
        self.items: dict[Any, Any] = {}


class _Harmless(pickle._Unpickler):
    """Python's own reader of pickles (the compiled one takes memory for any number in the file), made deaf and mute.

    Everything that would call or change an object puts what it was given into a stand-in instead.
    """

    dispatch: ClassVar[dict[int, Any]] = {}

    def find_class(self, module: str, name: str) -> Any:
        """A stand-in for what is named."""
        kind = _Named.known.get((module, name))
        if kind is None:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _Named(kind)


def _make(self: Any, function: Any, arguments: Any) -> _Named:
    if not isinstance(function, _Named) or function.made or not isinstance(arguments, tuple):
        raise pickle.UnpicklingError("it calls what cannot be called")
    kind = function.kind
    if kind == "object" and arguments and isinstance(arguments[0], _Named):  # an old way to write csr_matrix
        kind = arguments[0].kind
    made = _Named(kind)
    made.made, made.arguments = True, arguments
    return made


def _reduce(self: Any) -> None:
    arguments = self.stack.pop()
    self.stack[-1] = _make(self, self.stack[-1], arguments)


def _new(self: Any) -> None:
    arguments = self.stack.pop()
    self.stack.append(_make(self, self.stack.pop(), arguments))


def _build(self: Any) -> None:
    state, target = self.stack.pop(), self.stack[-1]
    if not isinstance(target, _Named) or not target.made:
        raise pickle.UnpicklingError("it changes what cannot be changed")
    target.state = state


def _set_item(self: Any) -> None:
    value, key = self.stack.pop(), self.stack.pop()
    _into(self.stack[-1])[key] = value


def _set_items(self: Any) -> None:
    pairs = self.pop_mark()
    _into(self.stack[-1]).update(zip(pairs[::2], pairs[1::2], strict=True))


def _into(target: Any) -> dict[Any, Any]:
    if isinstance(target, _Named) and target.made and target.kind == "dict":
        return target.items
    if type(target) is dict:
        return target
    raise pickle.UnpicklingError("it changes what cannot be changed")


def _append(self: Any) -> None:
    value = self.stack.pop()
    _list(self.stack[-1]).append(value)


def _appends(self: Any) -> None:
    values = self.pop_mark()
    _list(self.stack[-1]).extend(values)


def _list(target: Any) -> list[Any]:
    if type(target) is not list:
        raise pickle.UnpicklingError("it changes what cannot be changed")
    return target


def _refuse(self: Any) -> None:
    raise pickle.UnpicklingError("it has what no file of numbers needs")


_Harmless.dispatch = {
    **pickle._Unpickler.dispatch,
    **{
        code[0]: _refuse
        for code in (
            *(pickle.INST, pickle.OBJ, pickle.NEWOBJ_EX, pickle.EXT1, pickle.EXT2, pickle.EXT4),
            *(pickle.PERSID, pickle.BINPERSID, pickle.NEXT_BUFFER, pickle.READONLY_BUFFER),
            *(pickle.ADDITEMS, pickle.EMPTY_SET, pickle.FROZENSET),
        )
    },
    pickle.REDUCE[0]: _reduce,
    pickle.NEWOBJ[0]: _new,
    pickle.BUILD[0]: _build,
    pickle.SETITEM[0]: _set_item,
    pickle.SETITEMS[0]: _set_items,
    pickle.APPEND[0]: _append,
    pickle.APPENDS[0]: _appends,
}


def harmless(content: bytes) -> Any:
    """What a pickle holds, with stand-ins for everything but plain values; a ``ValueError`` for any that asks for more.

    >>> harmless(pickle.dumps({1: [2, 3]}))
    {1: [2, 3]}
    >>> harmless(pickle.dumps(print))
    Traceback (most recent call last):
    ...
    ValueError: it asks for builtins.print
    """
    try:
        return _Harmless(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:
        # A damaged pickle raises nearly any type.
        raise ValueError(str(error) or type(error).__name__) from None


def _matrix(value: Any) -> Tensor:
    """A sparse or dense matrix of numbers as floats."""
    if isinstance(value, _Named) and value.kind == "matrix":
        parts = value.state if isinstance(value.state, dict) else {}
        shape = parts.get("_shape", parts.get("shape"))
        if not isinstance(shape, tuple) or len(shape) != 2:
            raise ValueError("a sparse matrix without a shape")
        arrays = {name: _array(parts.get(name)) for name in ("data", "indices", "indptr")}
        arrays["shape"] = np.array([_whole(length) for length in shape])
        made = dense(csr_matrix(arrays)).astype(np.float32)
    else:
        made = _array(value).astype(np.float32)
    if made.ndim != 2:
        raise ValueError(f"an array of shape {made.shape} instead of a matrix")
    return torch.from_numpy(made)


def _array(value: Any) -> NDArray[Any]:
    """An array from its stand-in: ``(version, shape, dtype, by columns, bytes)``."""
    state = value.state if isinstance(value, _Named) and value.kind == "array" else None
    if not isinstance(state, tuple) or len(state) != 5:
        raise ValueError("something else than an array of numbers")
    _, shape, kind, by_columns, content = state
    if isinstance(content, str):
        content = content.encode("latin1")  # Python 2 had no bytes
    if isinstance(content, _Named) and content.kind == "bytes" and isinstance(content.arguments[0], str):
        content = content.arguments[0].encode("latin1")
    if not isinstance(shape, tuple) or not isinstance(content, bytes):
        raise ValueError("an array that is not complete")
    lengths = tuple(_whole(length) for length in shape)
    flat: NDArray[Any] = np.frombuffer(content, dtype=_dtype(kind))
    return flat.reshape(lengths[::-1]).T if by_columns else flat.reshape(lengths)


def _dtype(value: Any) -> np.dtype[Any]:
    if not isinstance(value, _Named) or value.kind != "dtype" or not value.arguments:
        raise ValueError("an array of unknown numbers")
    name = value.arguments[0]
    if not isinstance(name, str) or name not in ("i1", "i2", "i4", "i8", "u1", "f4", "f8", "b1"):
        raise ValueError(f"an array of {name!r} instead of numbers")
    order = value.state[1] if isinstance(value.state, tuple) and len(value.state) > 1 else "|"
    return np.dtype(name).newbyteorder(">" if order == ">" else "<")


def _neighbours(value: Any) -> dict[int, list[int]]:
    """Neighbours of each node."""
    items = value.items if isinstance(value, _Named) and value.kind == "dict" else value
    if not isinstance(items, dict) or not all(isinstance(own, list) for own in items.values()):
        raise ValueError("something else than a list of neighbours a node")
    return {_whole(node): [_whole(other) for other in own] for node, own in items.items()}


def _whole(value: Any) -> int:
    if isinstance(value, _Named) and value.kind == "number" and len(value.arguments) == 2:
        content = value.arguments[1]
        raw = content.encode("latin1") if isinstance(content, str) else content
        kind = _dtype(value.arguments[0])
        if isinstance(raw, bytes) and len(raw) == kind.itemsize:
            value = np.frombuffer(raw, kind)[0].item()
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError(f"{value!r} instead of a whole number"[:60])
    return value


def _assembled(parts: dict[str, Any], test: Tensor, gaps: bool) -> Data:
    """The parts as one graph. Where test nodes have ``gaps`` between them (Citeseer), nodes of zeros fill these."""
    order = test.sort().values
    tx, ty = parts["tx"], parts["ty"]
    first, last = int(order[0]), int(order[-1])
    if first != len(parts["allx"]) or last - first >= 2 * len(test):
        raise ValueError(f"test nodes {first} to {last} after {len(parts['allx'])} others")
    if gaps:
        tx, ty = (_spread(rows, order - first) for rows in (tx, ty))
    x, labels = torch.cat([parts["allx"], tx]), torch.cat([parts["ally"], ty])
    if len(x) != len(labels) or last >= len(x) or not len(parts["y"]) + _VALIDATION <= len(x):
        raise ValueError(f"{len(x)} rows of features and {len(labels)} labels")
    x[test] = x[order]
    y = labels.max(dim=1)[1]
    y[test] = y[order]
    graph: dict[int, list[int]] = parts["graph"]
    if not graph or max(max(graph), *(max(own, default=0) for own in graph.values())) >= len(x):
        raise ValueError("an edge names a node that is not there")
    data = Data(x=x, edge_index=edge_index_from_dict(graph, num_nodes=len(x)), y=y)
    train = len(parts["y"])
    data.train_mask = index_to_mask(torch.arange(train), size=len(x))
    data.val_mask = index_to_mask(torch.arange(train, train + _VALIDATION), size=len(x))
    data.test_mask = index_to_mask(test, size=len(x))
    return data


def _spread(rows: Tensor, places: Tensor) -> Tensor:
    spread = rows.new_zeros(int(places.max()) + 1, rows.shape[1])
    spread[places] = rows
    return spread
