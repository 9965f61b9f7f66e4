"""The learned side: Bernoulli structure, synthetic graphs, and the condensed result with its file."""

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
from graphcondense.synthetic.structure import BernoulliStructure

__all__ = [
    "BernoulliStructure",
    "CondensedDataset",
    "CondensedGraph",
    "DenseBatch",
    "DenseNodes",
    "Discrete",
    "FromFeatures",
    "NoStructure",
    "NodeStructure",
    "SyntheticGraphs",
    "SyntheticNodes",
    "density",
    "json_safe",
    "load_condensed",
    "normalise_dense",
    "pad_graphs",
    "summary",
    "unpad_graphs",
]
