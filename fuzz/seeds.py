"""Makes the first inputs of every fuzzer: small valid files, and the attacks that we know. ``python fuzz/seeds.py``."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from bundle import apart, pack
from safetensors.torch import save as to_safetensors
from scipy import sparse
from targets import CONDENSED, small_condensed, small_run, small_task
from torch_geometric.data import Data

import graphcondense as gc
from graphcondense.datasets.shards import split_task, write_shards
from graphcondense.models import Network, NetworkConfig
from graphcondense.runs.checkpoint import Checkpoint
from graphcondense.runs.condense import condense_into
from graphcondense.runs.grid import plan, run_grid, table_rows
from graphcondense.runs.scores import keep_scores
from graphcondense.synthetic import snap

CORPUS = Path(__file__).parent / "corpus"


def files_of(folder: Path) -> bytes:
    """The files of a folder as one input."""
    files: dict[str, bytes] = {}
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            files |= apart(file.name, file.read_bytes())
    return pack(files)


def node_graph() -> Data:
    """A small graph with labelled nodes."""
    edges = torch.tensor([[i, (i + 1) % 12] for i in range(12)]).T
    data = Data(x=torch.eye(4)[torch.arange(12) % 4], edge_index=edges, y=torch.arange(12) % 2)
    data.train_mask = data.val_mask = data.test_mask = torch.ones(12, dtype=torch.bool)
    return data


def condensed_files() -> Iterator[tuple[str, Any]]:
    """Condensed results of each kind."""
    task = small_task()
    graphs = gc.RandomSelection(graphs_per_class=1).condense(task)
    yield "graphs", graphs
    yield "snapped", snap(graphs, task)
    nodes = gc.node_task(node_graph(), name="small")
    yield "nodes", gc.RandomNodes(nodes=4).condense(nodes)
    yield "weighted", gc.GCond(nodes=3, iterations=1, network=NetworkConfig("sgc", hidden=4, layers=1)).condense(nodes)


def condensed() -> Iterator[tuple[str, bytes]]:
    """Each kind, a file whose categories stand for gigabytes, and one cut off."""
    with tempfile.TemporaryDirectory() as folder:
        for name, made in condensed_files():
            content = made.save(Path(folder) / f"{name}.safetensors").read_bytes()
            yield name, pack(apart("file.safetensors", content))
            if name == "snapped":
                wide = content.replace(b'\\"width\\": 3', b'\\"width\\": 999999')
                wide = (len(wide) - len(content) + int.from_bytes(content[:8], "little")).to_bytes(8, "little") + wide[
                    8:
                ]
                yield "bomb", pack(apart("file.safetensors", wide))
    yield "cut", pack({"file.safetensors": small_condensed()[:-5]})


def checkpoint() -> Iterator[tuple[str, bytes]]:
    """After no, one and two iterations."""
    run = small_run()
    for done in range(3):
        content = Checkpoint(run.state(), run.history, run.seconds, 1.0, {}).to_bytes()
        yield f"after{done}", pack(apart("checkpoint-00000001.safetensors", content))
        run.advance()


def run() -> Iterator[tuple[str, bytes]]:
    """A finished run with scores; nesting without end; numbers beyond floats."""
    task = small_task()
    preset = gc.preset("default", task)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        method = preset.method("doscond", graphs_per_class=1, iterations=2)
        condense_into(folder, method, task, preset)
        (folder / CONDENSED).write_bytes(small_condensed())
        keep_scores(folder / CONDENSED, "small", {"gcn": gc.Scores("accuracy", (0.5, 0.6), (0.5, 0.6), 1.0)})
        (folder / "settings.json").write_text('{"seed": 0}')
        files = {f.name: f.read_bytes() for f in sorted(folder.iterdir()) if f.suffix in (".json", ".jsonl")}
    yield "finished", pack(files)
    deep = b"[" * 20_000
    yield "deep", pack({"result.json": deep, "history.jsonl": deep, "condensed.scores.json": deep})
    huge = b'{"iteration": 1' + b"0" * 400 + b"}"
    yield "huge", pack({"history.jsonl": huge, "settings.json": b'{"seed": 0}', "result.json": b'{"bytes": NaN}'})
    yield "scores", pack({"condensed.scores.json": files["condensed.scores.json"].replace(b"0.5,", b"1e999,")})


def comparison() -> Iterator[tuple[str, bytes]]:
    """A table, and cells without one."""
    task = small_task()
    preset = gc.preset("default", task)
    cells = plan(preset, ["random", "whole"], [1], 1, 1)
    with tempfile.TemporaryDirectory() as place:
        rows = run_grid(cells, task, preset, folder=Path(place))
        files = {f.name: f.read_bytes() for f in sorted(Path(place).glob("*-*.json"))}
    table = {"dataset": "small", "preset": "default", "rows": table_rows(rows), "versions": {}}
    yield "table", pack({"table.json": json.dumps(table).encode()})
    yield "cells", pack(files)


def shards() -> Iterator[tuple[str, bytes]]:
    """Two shards; one whose index names a file elsewhere."""
    with tempfile.TemporaryDirectory() as place:
        folder = write_shards(split_task(small_task(), 2), Path(place) / "shards")
        whole = files_of(folder)
    yield "two", whole
    yield "elsewhere", whole.replace(b'"file": "shard-00001', b'"file": "../../../etc/shard-00001')


TU = {
    "S_A.txt": b"1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n6, 7\n7, 6\n8, 9\n9, 8\n10, 11\n11, 10\n12, 13\n13, 12\n",
    "S_graph_indicator.txt": b"1\n1\n1\n" + b"".join(b"%d\n%d\n" % (g, g) for g in range(2, 7)),
    "S_graph_labels.txt": b"1\n-1\n1\n-1\n1\n-1\n",
    "S_node_labels.txt": b"0\n1\n2\n" + b"1\n0\n" * 5,
}


def tu() -> Iterator[tuple[str, bytes]]:
    """Labels, attributes, neither, and a label that asks for all memory."""
    yield "labels", pack(TU)
    attributes = {"S_node_attributes.txt": b"0.5, 1e3\n" * 13}
    yield "attributes", pack({k: v for k, v in TU.items() if "node" not in k} | attributes)
    yield "both", pack(TU | attributes)
    yield "plain", pack({k: v for k, v in TU.items() if "node" not in k})
    yield "bomb", pack(TU | {"S_node_labels.txt": b"0\n" * 12 + b"9000000000000\n"})
    yield "indicator", pack(TU | {"S_graph_indicator.txt": b"1\n9000000000000\n"})


def ogb() -> Iterator[tuple[str, bytes]]:
    """Molecules, nodes, and a gzip bomb."""
    graphs = 10
    molecules = {
        "num-node-list.csv.gz": b"2\n" * graphs,
        "num-edge-list.csv.gz": b"1\n" * graphs,
        "graph-label.csv.gz": b"0\n1\n" * (graphs // 2),
        "node-feat.csv.gz": b"6,0,4\n7,1,3\n" * graphs,
        "edge.csv.gz": b"0,1\n" * graphs,
        "train.csv.gz": b"0\n1\n2\n3\n4\n5\n",
        "valid.csv.gz": b"6\n7\n",
        "test.csv.gz": b"8\n9\n",
    }
    yield "molecules", pack(molecules)
    nodes = {
        "node-feat.csv.gz": b"0.5,1\n-0.5,2\n" * 5,
        "node-label.csv.gz": b"0\n1\n" * 5,
        "edge.csv.gz": b"0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n6,7\n7,8\n8,9\n",
    }
    yield "nodes", pack({name: molecules[name] for name in ("train.csv.gz", "valid.csv.gz", "test.csv.gz")} | nodes)
    bomb = gzip.compress(b"0\n" * 10_000_000, 9, mtime=0)
    yield "bomb", pack(molecules | {"graph-label.csv.gz": bomb})


class _Shell:
    """What a pickle can do to whoever loads it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/graphcondense-was-here",)


def planetoid() -> Iterator[tuple[str, bytes]]:
    """A small set, one that would run a command, and one that asks for memory by a number."""
    train, rest, width = 4, 510, 3
    nodes = train + rest + 1000
    x = sparse.csr_matrix(np.eye(width, dtype=np.float32)[np.arange(nodes) % width])
    y = np.eye(2, dtype=np.int32)[np.arange(nodes) % 2]
    known = train + rest
    graph: defaultdict[int, list[int]] = defaultdict(list, {i: [(i + 1) % nodes] for i in range(0, nodes, 40)})
    parts = {
        "x": x[:train],
        "tx": x[known:],
        "allx": x[:known],
        "y": y[:train],
        "ty": y[known:],
        "ally": y[:known],
        "graph": graph,
    }
    files = {f"ind.s.{name}": pickle.dumps(value, protocol=2) for name, value in parts.items()}
    files["ind.s.test.index"] = b"".join(b"%d\n" % i for i in range(known, nodes))
    yield "small", pack(files)
    yield "shell", pack(files | {"ind.s.x": pickle.dumps(_Shell(), protocol=2)})
    yield "memo", pack(files | {"ind.s.y": b"\x80\x02K\x00r\xff\xff\xff\x7f."})


def arrays() -> Iterator[tuple[str, bytes]]:
    """The three sets, a header that lies, Python objects, a zip bomb, indices outside of a sparse matrix."""

    def saved(**values: Any) -> bytes:
        content = io.BytesIO()
        np.savez(content, **values)
        return content.getvalue()

    nodes = 140
    ring = sparse.csr_matrix((np.ones(nodes), (np.arange(nodes), (np.arange(nodes) + 1) % nodes)))
    attributes = sparse.csr_matrix(np.eye(4)[np.arange(nodes) % 4])
    parts = {
        f"{name}_{key}": getattr(matrix, key)
        for name, matrix in (("adj", ring), ("attr", attributes))
        for key in ("data", "indices", "indptr", "shape")
    }
    amazon = saved(**parts, labels=np.arange(nodes) % 2, class_names=np.array(["a", "b"]))
    yield "amazon", pack(apart("amazon.npz", amazon))
    yield (
        "outside",
        pack(apart("amazon.npz", saved(**(parts | {"adj_indices": parts["adj_indices"] + 10**9}), labels=0))),
    )
    yield "dense", pack(apart("amazon.npz", saved(**(parts | {"attr_shape": np.array([nodes, 2**40])}), labels=0)))
    flickr_ring = {key: getattr(ring[:12, :12].tocsr(), key) for key in ("data", "indices", "indptr", "shape")}
    feats = io.BytesIO()
    np.save(feats, np.eye(4)[np.arange(12) % 4])
    flickr = {
        "feats.npy": feats.getvalue(),
        "class_map.json": json.dumps({str(i): i % 2 for i in range(12)}).encode(),
        "role.json": json.dumps({"tr": [0, 1, 2, 3], "va": [4, 5], "te": [6, 7]}).encode(),
        **apart("adj_full.npz", saved(**flickr_ring)),
    }
    yield "flickr", pack(flickr)
    yield "lie", pack(flickr | {"feats.npy": feats.getvalue().replace(b"(12, 4)", b"(9999999, 99999)")})
    pixels = {
        "num_nodes": np.array([2, 3]),
        "label": np.array([0, 1]),
        "color": np.zeros((5, 3), np.float32),
        "pos": np.zeros((5, 2), np.float32),
    }
    yield "pixels", pack(apart("pixels.npz", saved(**pixels)))
    objects = io.BytesIO()
    np.savez(objects, **(pixels | {"label": np.array([_Shell(), 1], dtype=object)}))
    yield "objects", pack({"pixels.npz": objects.getvalue()})
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in pixels:
            archive.writestr(f"{name}.npy", bytes(10**7))
    yield "bomb", pack({"pixels.npz": bomb.getvalue()})


def imported() -> Iterator[tuple[str, bytes]]:
    """Every form of every kind; pickles that run commands, tensors that show one number a billion times, XML bombs."""
    for name, made in condensed_files():
        for kind, target in (("pyg", "small.pt"), ("networkx", "small.json"), ("graphml", "."), ("csv", ".")):
            with tempfile.TemporaryDirectory() as place:
                gc.export(made, Path(place) / target, kind, force=True)
                blob = files_of(Path(place))
            yield f"{kind}-{name}", blob
            if (kind, name) == ("graphml", "graphs"):
                bomb = b'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "aaaaaaaaaa">' + b"".join(
                    b'<!ENTITY %c "%s">' % (ord("a") + i + 1, b"&%c;" % (ord("a") + i) * 10) for i in range(9)
                )
                head = b"<?xml version='1.0' encoding='utf-8'?>"
                yield "entities", blob.replace(head, bomb + b"]>").replace(b"</graphml>", b"&j;</graphml>")
                secret = b'<?xml version="1.0"?><!DOCTYPE g [<!ENTITY j SYSTEM "file:///etc/hostname">]>'
                yield "secret", blob.replace(head, secret).replace(b"</graphml>", b"&j;</graphml>")
    content = io.BytesIO()
    torch.save({"data": _Shell()}, content)
    yield "shell", pack(apart("small.pt", content.getvalue()))
    yield "pickle", pack({"small.pt": pickle.dumps(_Shell())})
    content = io.BytesIO()
    many = torch.zeros(1).expand(10**6, 10**6)
    torch.save({"data": {"x": many, "edge_index": torch.zeros(2, 0).long()}, "slices": {}, "facts": {}}, content)
    yield "expanded", pack(apart("small.pt", content.getvalue()))


BOMB = b'<!DOCTYPE g [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'


def shape(number: int) -> nx.Graph:
    """A small ring or star, its nodes with a category, a number and a class."""
    graph = nx.cycle_graph(3 + number % 2) if number % 2 else nx.star_graph(3)
    for node, own in graph.nodes(data=True):
        own |= {"kind": "ab"[node % 2], "size": node / 2, "label": "xy"[node % 2]}
    nx.set_edge_attributes(graph, 2.0, "weight")
    return graph


def written(graph: nx.Graph, form: str) -> bytes:
    """A graph as GraphML or GEXF."""
    content = io.BytesIO()
    (nx.write_graphml if form == "graphml" else nx.write_gexf)(graph, content)
    return content.getvalue()


def graphs() -> Iterator[tuple[str, bytes]]:
    """Both forms, a table with a split, one that leads elsewhere, a bomb."""
    for form in ("graphml", "gexf"):
        files = {f"g{i}.{form}": written(shape(i), form) for i in range(6)}
        rows = [
            f"g{i}.{form},{'ring' if i % 2 else 'star'},{part}" for i, part in enumerate(["train", "val", "test"] * 2)
        ]
        yield form, pack(files | {"labels.csv": "\n".join(["file,label,split", *rows]).encode()})
    yield "elsewhere", pack(files | {"labels.csv": b"file,label\n../../etc/passwd,a\n/etc/passwd,b\n"})
    yield "bomb", pack({"g0.graphml": BOMB + b"<graphml>&b;</graphml>", "labels.csv": b"file,label\ng0,a\n"})


def network() -> Iterator[tuple[str, bytes]]:
    """A small club in both forms, a bomb, a huge number, deep nesting."""
    club = nx.disjoint_union_all([shape(i) for i in range(6)])
    for form in ("graphml", "gexf"):
        yield form, pack({f"own.{form}": written(club, form)})
    directed = nx.DiGraph(club)
    yield "directed", pack({"own.graphml": written(directed, "graphml")})
    yield "bomb", pack({"own.graphml": BOMB + b"<graphml>&b;</graphml>"})
    yield "number", pack({"own.graphml": written(club, "graphml").replace(b">0.5<", b">1e999<")})
    yield "deep", pack({"own.gexf": b"<a>" * 2000 + b"</a>" * 2000})


def smiles() -> Iterator[tuple[str, bytes]]:
    """Molecules with a class, with a split, with quotes, and what is no molecule."""
    names = ["C" * (i + 1) + ("O" if i % 2 else "N") for i in range(12)]
    rows = [f"{name},{'yes' if i % 2 else 'no'}" for i, name in enumerate(names)]
    yield "usual", pack({"molecules.csv": "\n".join(["smiles,label", *rows]).encode()})
    split = [
        f'"{row.split(",")[0]}",{row.split(",")[1]},{("train", "val", "test")[i // 2 % 3]}'
        for i, row in enumerate(rows)
    ]
    yield "split", pack({"molecules.csv": "\r\n".join(["smiles,label,split", *split]).encode()})
    yield "wrong", pack({"molecules.csv": b"smiles,label\nC(((,1\nnan,0\n"})
    yield "long", pack({"molecules.csv": b"smiles,label\n" + b"C" * 30_000 + b",1\nC,0\n"})


def settings() -> Iterator[tuple[str, bytes]]:
    """Settings of every kind, and nesting without end."""
    yield (
        "usual",
        pack(
            {"settings.txt": b"doscond\ngraphs_per_class=1\nfeature_rate=0.1\nreal-batch=all\npad=true\nnodes=3\n1,10"}
        ),
    )
    yield "wrong", pack({"settings.txt": b"dcg\nrestart_at=1e400\nnetwork={kind='gcn'}\nmatch=[1]\n1"})
    yield "deep", pack({"settings.txt": b"doscond\nnodes=" + b"[" * 10_000 + b"\n1"})
    yield "nodes", pack({"settings.txt": b"herding\nnodes=1979-05-27\nseed=-1\n1"})


def cached() -> Iterator[tuple[str, bytes]]:
    """A trained network, and the same in halves of numbers."""
    network = Network(NetworkConfig(hidden=2, layers=1), 3, 2)
    tensors = network.draw_seeds([0]) | network.fresh_statistics(1)
    facts = {"graphcondense": json.dumps({"val_score": 0.5, "best_epoch": 1, "seconds": 1.0})}
    yield "network", pack(apart("network.safetensors", to_safetensors(tensors, facts)))
    halves = {name: value.half() for name, value in tensors.items()}
    yield "halves", pack(apart("network.safetensors", to_safetensors(halves, facts)))


SEEDS = {
    "condensed": condensed,
    "checkpoint": checkpoint,
    "run": run,
    "comparison": comparison,
    "shards": shards,
    "tu": tu,
    "ogb": ogb,
    "planetoid": planetoid,
    "arrays": arrays,
    "import": imported,
    "graphs": graphs,
    "network": network,
    "smiles": smiles,
    "settings": settings,
    "cached": cached,
}


def main() -> None:
    """Write all seeds into the corpus; what fuzzers have found stays."""
    for target, make in SEEDS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, blob in make():
            (folder / f"seed-{name}").write_bytes(blob)


if __name__ == "__main__":
    main()
