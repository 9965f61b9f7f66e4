"""The real side: all graphs in flat arrays, ready for networks."""

from graphcondense.real.batch import RealGraphs, SparseBatch
from graphcondense.real.sampling import ClassSampler

__all__ = ["ClassSampler", "RealGraphs", "SparseBatch"]
