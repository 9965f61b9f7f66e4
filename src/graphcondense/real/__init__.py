"""The real side: all graphs in flat arrays, ready for networks."""

from graphcondense.real.batch import CACHED_ROWS, RealGraphs, SparseBatch
from graphcondense.real.sampling import ClassSampler

__all__ = ["CACHED_ROWS", "ClassSampler", "RealGraphs", "SparseBatch"]
