"""The datasets that are known by name: a table of facts, and the files that each one needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from graphcondense.datasets.places import cache_root, data_root


class Layout(Enum):
    """How a dataset's files are laid out, which decides who reads them."""

    EMBEDDED = "embedded"
    TU = "tu"
    OGB = "ogb"
    SUPERPIXELS = "superpixels"
    AMAZON = "amazon"
    PLANETOID = "planetoid"
    AMAZON_NODES = "amazon nodes"
    OGBN = "ogbn"
    FLICKR = "flickr"


@dataclass(frozen=True)
class DatasetInfo:
    """A known dataset.

    Args:
        name: as its publishers write it.
        kind: what a graph is.
        graphs: number of graphs.
        classes: number of classes.
        avg_nodes: nodes a graph, on average.
        avg_edges: edges a graph, on average; an undirected edge counts once.
        metric: what it is judged by.
        layout: of its files.
        folder: its folder below the data root.
        files: the files that it needs, below ``folder``.
        url: where OGB publishes it as a zip file.
        task: ``"graph"`` or ``"node"``; a node set is one graph.
    """

    name: str
    kind: str
    graphs: int
    classes: int
    avg_nodes: float
    avg_edges: float
    metric: str
    layout: Layout
    folder: str = ""
    files: tuple[str, ...] = ()
    url: str = ""
    task: str = "graph"

    @property
    def published_split(self) -> bool:
        """Whether it comes with a split of its own, so that no seed is needed."""
        return self.layout in (Layout.OGB, Layout.SUPERPIXELS, Layout.PLANETOID, Layout.OGBN, Layout.FLICKR)

    def home(self, root: str | Path | None = None) -> Path:
        """The dataset's folder: below the data root, or below the cache if only a download has it all."""
        first, *others = self._homes(root)
        return next((home for home in (first, *others) if not self._missing_in(home)), first)

    def missing_files(self, data_root: str | Path | None = None) -> list[Path]:
        """The files that are not at hand, as paths below the data root. Only looks, loads nothing."""
        return self._missing_in(self.home(data_root))

    def available(self, data_root: str | Path | None = None) -> bool:
        """Whether the dataset can be loaded without a network."""
        return not self.missing_files(data_root)

    def _homes(self, root: str | Path | None) -> list[Path]:
        return [place / self.folder for place in (data_root(root), cache_root())]

    def _missing_in(self, home: Path) -> list[Path]:
        return [home / file for file in self.files if not (home / file).is_file()]


TU_FOLDER = "TUDataset"
OGB_FILES = (
    *(f"raw/{name}.csv.gz" for name in ("num-node-list", "num-edge-list", "edge", "node-feat", "graph-label")),
    *(f"split/scaffold/{name}.csv.gz" for name in ("train", "valid", "test")),
)


def _tu(name: str, kind: str, graphs: int, classes: int, avg_nodes: float, avg_edges: float) -> DatasetInfo:
    parts = ("A", "graph_indicator", "graph_labels", "node_labels")
    return DatasetInfo(
        name=name,
        kind=kind,
        graphs=graphs,
        classes=classes,
        avg_nodes=avg_nodes,
        avg_edges=avg_edges,
        metric="accuracy",
        layout=Layout.TU,
        folder=f"{TU_FOLDER}/{name}/raw",
        files=tuple(f"{name}_{part}.txt" for part in parts),
    )


def _ogb(short: str, graphs: int, avg_nodes: float, avg_edges: float) -> DatasetInfo:
    return DatasetInfo(
        name=f"ogbg-mol{short}",
        kind="molecule",
        graphs=graphs,
        classes=2,
        avg_nodes=avg_nodes,
        avg_edges=avg_edges,
        metric="roc_auc",
        layout=Layout.OGB,
        folder=f"ogb/ogbg_mol{short}",
        files=OGB_FILES,
        url=f"http://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/{short}.zip",
    )


def _nodes(
    name: str, kind: str, classes: int, nodes: int, edges: int, layout: Layout, folder: str, files: tuple[str, ...]
) -> DatasetInfo:
    return DatasetInfo(
        name, kind, 1, classes, float(nodes), float(edges), "accuracy", layout, folder=folder, files=files, task="node"
    )


def _planetoid(name: str, folder: str, classes: int, nodes: int, edges: int) -> DatasetInfo:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    files = tuple(f"ind.{folder.lower()}.{part}" for part in parts)
    return _nodes(name, "citations", classes, nodes, edges, Layout.PLANETOID, f"Planetoid/{folder}/raw", files)


OGBN_FILES = (
    *(f"raw/{name}.csv.gz" for name in ("node-feat", "node-label", "edge")),
    *(f"split/time/{name}.csv.gz" for name in ("train", "valid", "test")),
)
_KNOWN = (
    DatasetInfo("digits", "image", 1_797, 10, 32.69, 88.98, "accuracy", Layout.EMBEDDED),
    _tu("MUTAG", "molecule", 188, 2, 17.93, 19.79),
    _tu("NCI1", "molecule", 4_110, 2, 29.87, 32.30),
    _tu("DD", "protein", 1_178, 2, 284.32, 715.66),
    _ogb("bace", 1_513, 34.09, 36.86),
    _ogb("bbbp", 2_039, 24.06, 25.95),
    _ogb("hiv", 41_127, 25.51, 27.47),
    DatasetInfo(
        "CIFAR10",
        "superpixels",
        60_000,
        10,
        117.63,
        941.07,
        "accuracy",
        Layout.SUPERPIXELS,
        folder="superpixels/CIFAR10",
        files=("train.npz", "test.npz"),
    ),
    DatasetInfo(
        "amazon-ego",
        "products",
        1_109,
        2,
        32.66,
        346.08,
        "accuracy",
        Layout.AMAZON,
        folder="Amazon/Photo/raw",
        files=("amazon_electronics_photo.npz",),
    ),
    _planetoid("Cora", "Cora", 7, 2_708, 5_278),
    _planetoid("Citeseer", "CiteSeer", 6, 3_327, 4_552),
    _planetoid("Pubmed", "PubMed", 3, 19_717, 44_324),
    _nodes("ogbn-arxiv", "citations", 40, 169_343, 1_157_799, Layout.OGBN, "ogb/ogbn_arxiv", OGBN_FILES),
    _nodes(
        "Flickr",
        "images",
        7,
        89_250,
        449_878,
        Layout.FLICKR,
        "Flickr/raw",
        ("adj_full.npz", "feats.npy", "class_map.json", "role.json"),
    ),
    _nodes(
        "Photo",
        "products",
        8,
        7_650,
        119_081,
        Layout.AMAZON_NODES,
        "Amazon/Photo/raw",
        ("amazon_electronics_photo.npz",),
    ),
    _nodes(
        "Computers",
        "products",
        10,
        13_752,
        245_861,
        Layout.AMAZON_NODES,
        "Amazon/Computers/raw",
        ("amazon_electronics_computers.npz",),
    ),
)


def known() -> list[DatasetInfo]:
    """All datasets that :func:`graphcondense.datasets.load` knows by name.

    >>> [info.name for info in known()][:4]
    ['digits', 'MUTAG', 'NCI1', 'DD']
    """
    return list(_KNOWN)


def find_known(name: str) -> DatasetInfo | None:
    """The known dataset of that name, however it is spelt.

    >>> find_known("OGBG_MolHIV").name
    'ogbg-molhiv'
    """
    return next((info for info in _KNOWN if plain(info.name) == plain(name)), None)


def tu_sets_at_hand(root: str | Path | None = None) -> dict[str, Path]:
    """TU sets in the data root or the cache, known or not, by name."""
    found: dict[str, Path] = {}
    for place in (cache_root(), data_root(root)):
        found.update({path.parent.name: path for path in sorted((place / TU_FOLDER).glob("*/raw")) if path.is_dir()})
    return found


def match_name(name: str, names: Sequence[str]) -> str | None:
    """The one of ``names`` that is spelt like ``name``, exactly if possible."""
    return name if name in names else next((other for other in names if plain(other) == plain(name)), None)


def plain(name: str) -> str:
    """A name without what people mix up: case, ``-``, ``_`` and spaces."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
