"""What is fuzzed: every reader of files, each with the files that it reads and what must hold of what it gives.

To add one, write a function that reads a folder and put it into ``TARGETS`` with the patterns of its files; then a
few small inputs into ``seeds.py``.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import bundle
import rdkit.Chem  # noqa: F401  # sets a variable of the environment when it is imported, before anybody watches
import torch
from guard import watched
from safetensors.torch import load as from_safetensors
from safetensors.torch import save as to_safetensors
from torch_geometric.data import Data

import graphcondense as gc
from graphcondense.cli.options import parse_counts, parse_settings
from graphcondense.datasets.node_files import load_amazon, load_flickr, load_ogbn, load_planetoid
from graphcondense.datasets.ogb import load_ogb
from graphcondense.datasets.shards import ShardFolder
from graphcondense.datasets.superpixels import read_superpixels
from graphcondense.datasets.tu import load_tu
from graphcondense.distributed import World
from graphcondense.errors import GraphcondenseError
from graphcondense.graphs import GraphStore
from graphcondense.machine import keep_freed_memory
from graphcondense.methods.bilevel import DosCondBi
from graphcondense.methods.doscond import Condensation
from graphcondense.methods.run import Run
from graphcondense.models import Network, NetworkConfig
from graphcondense.report.page.comparison import comparison_page
from graphcondense.report.page.folder import RunFolder
from graphcondense.runs.callbacks import Checkpoints
from graphcondense.runs.checkpoint import _CHECKSUM, _as_tensor, _digest
from graphcondense.runs.folder import CONDENSED, read_result, run_folder
from graphcondense.tasks import GraphTask, NodeTask
from graphcondense.training.store import _read as read_trained

keep_freed_memory()  # asks the C library the first time


@dataclass(frozen=True)
class Target:
    """A reader.

    Args:
        read: reads a folder with the files of one input.
        files: patterns of their names.
    """

    read: Callable[[Path], None]
    files: tuple[str, ...]

    def run(self, blob: bytes) -> str:
        """Read one input; what the reader said of it, empty where it took it.

        Raises whatever else the reader raised, and :class:`guard.Misbehaved`.
        """
        folder = Path(tempfile.mkdtemp(prefix="tmp-fuzz-"))
        try:
            bundle.lay_out(blob, folder, self.files)
            with watched(folder):
                try:
                    self.read(folder)
                except GraphcondenseError as error:
                    assert str(error) and "\n" not in str(error), f"not one line: {error}"
                    return str(error)
            return ""
        finally:
            shutil.rmtree(folder)


@cache
def small_task() -> GraphTask:
    """Two classes of tiny graphs."""
    path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = [
        Data(x=torch.eye(3)[torch.tensor([i % 3, (i + 1) % 3, i % 2])], edge_index=path, y=torch.tensor([i % 2]))
        for i in range(20)
    ]
    return gc.graph_task(graphs, name="small")


def small_run() -> Run:
    """A bi-level run on them: it has all that a state can have."""
    network = NetworkConfig(hidden=4, layers=1)
    settings = DosCondBi(graphs_per_class=1, iterations=4, outer=3, inner=1, network=network, nodes=3)
    return Run(Condensation(settings, small_task()), small_task(), settings.iterations)


def check_graphs(graphs: GraphStore) -> None:
    """What the rest of the package believes of graphs."""
    nodes = graphs.x.shape[0]
    assert graphs.x.dim() == 2 and graphs.x.dtype == torch.float32 and bool(graphs.x.isfinite().all())
    assert int(graphs.node_ptr[-1]) == nodes and int(graphs.num_nodes.min()) >= 1
    assert graphs.edge_index.dtype == torch.long and int(graphs.edge_ptr[-1]) == graphs.edge_index.shape[1]
    assert not graphs.edge_index.numel() or 0 <= int(graphs.edge_index.min()) <= int(graphs.edge_index.max()) < nodes


def check_task(task: GraphTask | NodeTask) -> None:
    """The same of a task."""
    graphs = task.graph if isinstance(task, NodeTask) else task.graphs
    check_graphs(graphs)
    assert len(graphs.y) == (task.num_nodes if isinstance(task, NodeTask) else len(graphs))
    assert int(graphs.y.max()) < task.num_classes
    for part in (task.split.train, task.split.val, task.split.test):
        assert 0 <= int(part.min()) <= int(part.max()) < len(graphs.y)
        assert int(graphs.y[part].min()) >= 0


def check_condensed(condensed: gc.CondensedDataset | gc.CondensedGraph, folder: Path) -> None:
    """What was read can be written, and is the same when it is read again."""
    check_graphs(condensed.graph if isinstance(condensed, gc.CondensedGraph) else condensed.graphs)
    first = condensed.save(folder / "again.safetensors", force=True).read_bytes()
    second = gc.load_condensed(folder / "again.safetensors").save(folder / "third.safetensors", force=True).read_bytes()
    assert first == second
    assert repr(condensed)
    condensed.to_pyg()


def read_condensed(folder: Path) -> None:
    """A condensed file."""
    check_condensed(gc.load_condensed(folder / "file.safetensors"), folder)


def read_checkpoint(folder: Path) -> None:
    """A checkpoint, as it is and with a right checksum, into a run that takes a step."""
    for file in folder.glob("checkpoint-*.safetensors"):
        try:
            tensors = from_safetensors(file.read_bytes())
        except Exception:
            continue
        if tensors.pop(_CHECKSUM, None) is not None:
            mended = to_safetensors(tensors | {_CHECKSUM: _as_tensor(_digest(tensors))})
            file.with_name("checkpoint-99999999.safetensors").write_bytes(mended)
    run, saving = small_run(), Checkpoints(folder)
    try:
        saving.on_run(run)
        if not run.done:
            run.advance()
        run.result()
    finally:
        saving.on_end()


def read_run(folder: Path) -> None:
    """What lies beside a condensed file in a run folder."""
    (folder / CONDENSED).write_bytes(small_condensed())
    run = RunFolder.read(folder)
    assert all(isinstance(line, str) for line in run.commands)
    for scores in run.scores.values():
        assert scores.mean == scores.mean
    with run_folder(folder, {"seed": 0}, resume=True):
        read_result(folder)


@cache
def small_condensed() -> bytes:
    """A valid condensed file."""
    condensed = gc.RandomSelection(graphs_per_class=1).condense(small_task())
    with tempfile.TemporaryDirectory() as folder:
        return condensed.save(Path(folder) / "small.safetensors").read_bytes()


def read_comparison(folder: Path) -> None:
    """The page of a comparison."""
    comparison_page(folder)


def read_shards(folder: Path) -> None:
    """A folder of shards, all of it and the first process's part."""
    shards = ShardFolder.find(folder)
    if shards is not None:
        check_task(shards.load())
        check_task(shards.load_part(World(), True))


def read_tu(folder: Path) -> None:
    """A folder in TU format."""
    check_task(load_tu(folder, reference_split=False))


def read_ogb(folder: Path) -> None:
    """OGB's files of molecules or of nodes: all in one folder here, so they are put into place first."""
    for place, names in (("raw", ("*.csv.gz",)), ("split/scaffold", _SPLIT), ("split/time", _SPLIT)):
        (folder / place).mkdir(parents=True)
        for name in names:
            for file in folder.glob(name):
                shutil.copy(file, folder / place / file.name)
    if (folder / "node-label.csv.gz").exists():
        check_task(load_ogbn("fuzzed", folder))
    else:
        check_task(load_ogb("fuzzed", folder, metric="accuracy"))


_SPLIT = ("train.csv.gz", "valid.csv.gz", "test.csv.gz")


def read_planetoid(folder: Path) -> None:
    """Planetoid's pickles."""
    check_task(load_planetoid("fuzzed", folder))


def read_arrays(folder: Path) -> None:
    """NumPy's files: Amazon's, Flickr's, the superpixels'."""
    if (folder / "feats.npy").exists():
        check_task(load_flickr("fuzzed", folder))
    if (folder / "amazon.npz").exists():
        check_task(load_amazon("fuzzed", folder / "amazon.npz"))
    if (folder / "pixels.npz").exists():
        read_superpixels(folder / "pixels.npz")


def read_import(folder: Path) -> None:
    """What ``import`` reads: tensors of PyG, JSON of NetworkX, GraphML, CSV."""
    file = next((file for file in (folder / "small.pt", folder / "small.json") if file.exists()), folder)
    check_condensed(gc.import_graphs(file), folder)


def read_graphs(folder: Path) -> None:
    """A folder of GraphML and GEXF files with a table of their classes."""
    check_task(gc.load(folder))


def read_network(folder: Path) -> None:
    """One GraphML or GEXF file whose nodes are classified."""
    for file in sorted(folder.iterdir()):
        check_task(gc.load(file))


def read_smiles(folder: Path) -> None:
    """A table of SMILES."""
    check_task(gc.load(folder / "molecules.csv"))


def read_settings(folder: Path) -> None:
    """Settings on the command line, a line each; the first line is the method."""
    file = folder / "settings.txt"
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n") if file.exists() else [""]
    parse_counts("-n", lines[-1])
    task = small_task()
    gc.preset("default", task).method(lines[0], **parse_settings([line for line in lines[1:-1] if line])).check(task)


def read_cached(folder: Path) -> None:
    """A trained network in the cache: what is damaged is trained again, and is no error."""
    network = Network(NetworkConfig(hidden=2, layers=1), 3, 2)
    entry = read_trained(folder / "network.safetensors", network)
    assert entry is None or all(bool(weight.isfinite().all()) for weight in entry.weights.values())


TARGETS = {
    "condensed": Target(read_condensed, ("file.safetensors",)),
    "checkpoint": Target(read_checkpoint, ("checkpoint-00000001.safetensors",)),
    "run": Target(read_run, ("*.json", "history.jsonl")),
    "comparison": Target(read_comparison, ("*.json",)),
    "shards": Target(read_shards, ("shards.json", "shard-*.safetensors")),
    "tu": Target(read_tu, ("*.txt",)),
    "ogb": Target(read_ogb, ("*.csv.gz",)),
    "planetoid": Target(read_planetoid, ("ind.*",)),
    "arrays": Target(read_arrays, ("*.npz", "*.npy", "*.json")),
    "import": Target(read_import, ("small.pt", "small.json", "*.csv", "*.graphml", "facts.json")),
    "graphs": Target(read_graphs, ("*.graphml", "*.gexf", "*.csv")),
    "network": Target(read_network, ("*.graphml", "*.gexf")),
    "smiles": Target(read_smiles, ("molecules.csv",)),
    "settings": Target(read_settings, ("settings.txt",)),
    "cached": Target(read_cached, ("network.safetensors",)),
}
