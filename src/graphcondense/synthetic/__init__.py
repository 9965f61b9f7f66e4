"""The learned side: Bernoulli structure, synthetic graphs, and the condensed result with its file."""

from graphcondense.synthetic.categories import Categories
from graphcondense.synthetic.condensed import (
    CondensedDataset,
    CondensedGraph,
    density,
    json_safe,
    load_condensed,
    summary,
)
from graphcondense.synthetic.dense import DenseBatch, normalise_dense
from graphcondense.synthetic.graphs import SyntheticGraphs, pad_graphs, unpad_graphs
from graphcondense.synthetic.nodes import DenseNodes, Discrete, FromFeatures, NodeStructure, NoStructure, SyntheticNodes
from graphcondense.synthetic.pyg import CondensedInMemory
from graphcondense.synthetic.snapping import check_categories, snap
from graphcondense.synthetic.structure import BernoulliStructure

__all__ = [
    "BernoulliStructure",
    "Categories",
    "CondensedDataset",
    "CondensedGraph",
    "CondensedInMemory",
    "DenseBatch",
    "DenseNodes",
    "Discrete",
    "FromFeatures",
    "NoStructure",
    "NodeStructure",
    "SyntheticGraphs",
    "SyntheticNodes",
    "check_categories",
    "density",
    "json_safe",
    "load_condensed",
    "normalise_dense",
    "pad_graphs",
    "snap",
    "summary",
    "unpad_graphs",
]
