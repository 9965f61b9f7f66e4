"""The objective: class gradients, distances, regularisers and the two terms of the paper's Proposition 1."""

from graphcondense.matching.distances import DISTANCES, Distance, cosine, layerwise_cosine, relative_squared
from graphcondense.matching.gradients import Gradients
from graphcondense.matching.match import Matcher, autograd_gradients, tie
from graphcondense.matching.nodes import NodeMatcher, formed, total
from graphcondense.matching.regularisers import first_term, input_norm, second_term, sparsity

__all__ = [
    "DISTANCES",
    "Distance",
    "Gradients",
    "Matcher",
    "NodeMatcher",
    "autograd_gradients",
    "cosine",
    "first_term",
    "formed",
    "input_norm",
    "layerwise_cosine",
    "relative_squared",
    "second_term",
    "sparsity",
    "tie",
    "total",
]
