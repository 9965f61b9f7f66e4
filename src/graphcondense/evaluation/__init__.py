"""The judge: what a network trained on some graphs scores on the real test graphs."""

from graphcondense.evaluation.modules import ModuleSource
from graphcondense.evaluation.protocol import Protocol, Scores, evaluate, own_protocol, pooled

__all__ = ["ModuleSource", "Protocol", "Scores", "evaluate", "own_protocol", "pooled"]
