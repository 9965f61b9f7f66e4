"""Discrete structure by a Bernoulli model: logits, relaxed samples, and the 0/1 result."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from graphcondense.autograd import apply


class BernoulliStructure:
    """One Bernoulli variable a pair of nodes; entry ``[i, j]`` of an adjacency is the edge from ``j`` to ``i``.

    Only the pairs that can be an edge have a logit: ``logits`` is one long row, the pairs of all graphs.

    Args:
        adjacency: 0/1 start, ``... x n x n``.
        node_mask: which nodes exist, ``... x n``; ``None`` when all do. No edge ever touches a node that does not.
        strength: logit of a present edge at the start; an absent one has ``-strength``.
        directed: whether ``[i, j]`` and ``[j, i]`` are variables of their own. Otherwise they are one.

    >>> path = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> structure = BernoulliStructure(path)
    >>> torch.equal(structure.discrete(), path), len(structure.logits)
    (True, 3)
    """

    def __init__(
        self, adjacency: Tensor, node_mask: Tensor | None = None, strength: float = 5.0, directed: bool = False
    ) -> None:
        self.directed, self.shape = directed, adjacency.shape
        n = adjacency.shape[-1]
        allowed = torch.ones(n, n, dtype=torch.bool, device=adjacency.device)
        allowed = allowed.fill_diagonal_(False) if directed else allowed.triu_(1)
        allowed = allowed.expand_as(adjacency)
        if node_mask is not None:
            allowed = allowed & node_mask.unsqueeze(-1) & node_mask.unsqueeze(-2)
        self.place = allowed.reshape(-1).nonzero().flatten()  # of each pair in the flat adjacency
        self.logits = ((2 * adjacency.reshape(-1)[self.place] - 1) * strength).requires_grad_()
        pairs = self.place.numel()
        pair = torch.full((adjacency.numel(),), pairs, dtype=torch.int32, device=adjacency.device)
        pair[self.place] = torch.arange(pairs, dtype=torch.int32, device=adjacency.device)
        if not directed:
            pair = torch.minimum(pair, pair.view(self.shape).mT.reshape(-1))
        self.pair = pair  # of each entry of the flat adjacency; one past the last where no edge may be

    def adjacency(self, values: Tensor) -> Tensor:
        """Values of the pairs as an adjacency, ``... x n x n``, zero where no edge may be; differentiable."""
        return apply(_Spread, values, self)

    def probabilities(self) -> Tensor:
        """Probability of each edge, zero where none may be."""
        return self.adjacency(torch.sigmoid(self.logits))

    def density(self) -> Tensor:
        """Mean of all :meth:`probabilities`."""
        return torch.sigmoid(self.logits).sum() * ((1 if self.directed else 2) / self.pair.numel())

    def sample(self, temperature: float, generator: torch.Generator) -> Tensor:
        """A draw from the binary concrete distribution: ``sigmoid((log a - log(1 - a) + logits) / temperature)``.

        Differentiable in the logits; symmetric unless directed; 0/1 in the limit of temperature zero.
        """
        uniform = torch.rand(self.logits.shape, generator=generator, dtype=self.logits.dtype)
        finite = torch.finfo(uniform.dtype)
        noise = uniform.clamp_(min=finite.tiny, max=1 - finite.eps).logit_().to(self.logits.device)
        return self.adjacency(torch.sigmoid((noise + self.logits) / temperature))

    def discrete(self) -> Tensor:
        """The learned structure: an edge where its probability exceeds one half."""
        return self.adjacency((self.logits.detach() > 0).to(self.logits.dtype))


class _Spread(torch.autograd.Function):
    """Pairs to entries and back, both by gathering: the scatter that autograd would do is several times slower."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, structure: BernoulliStructure) -> Tensor:
        ctx.structure = structure
        padded = torch.cat([values, values.new_zeros(1)])
        return padded.index_select(0, structure.pair).view(structure.shape)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        structure, grad = ctx.structure, grad_outputs[0]
        if not structure.directed:
            grad = grad + grad.mT
        return grad.reshape(-1).index_select(0, structure.place), None
