"""The real side: all graphs in flat arrays, ready for networks."""

from graphcondense.real.batch import CACHED_ROWS, RealGraphs, SparseBatch
from graphcondense.real.nodes import NodeBatch, RealNodes
from graphcondense.real.sampling import ClassSampler

__all__ = ["CACHED_ROWS", "ClassSampler", "NodeBatch", "RealGraphs", "RealNodes", "SparseBatch"]
