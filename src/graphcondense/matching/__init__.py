"""The objective: class gradients, distances, regularisers and the two terms of the paper's Proposition 1."""

from graphcondense.matching.distances import DISTANCES, cosine, layerwise_cosine, relative_squared
from graphcondense.matching.gradients import Gradients, flatten, gradients, match, real_gradients, tie
from graphcondense.matching.regularisers import first_term, input_norm, second_term, sparsity

__all__ = [
    "DISTANCES",
    "Gradients",
    "cosine",
    "first_term",
    "flatten",
    "gradients",
    "input_norm",
    "layerwise_cosine",
    "match",
    "real_gradients",
    "relative_squared",
    "second_term",
    "sparsity",
    "tie",
]
