"""DosCond written plainly: PyG batches, a loop over the classes, autograd twice. The yardstick for every speed figure.

Same batch sizes, same networks, same arithmetic as the package; `tests/benchmarks/test_textbook.py` checks that both
give the same class gradients and the same matching loss. Nothing here is meant to be fast, nothing is made slow.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, InstanceNorm, global_add_pool, global_mean_pool

from graphcondense.evaluation import Protocol
from graphcondense.graphs import GraphStore
from graphcondense.methods import DosCond
from graphcondense.metrics import METRICS
from graphcondense.models import NetworkConfig
from graphcondense.synthetic.graphs import pad_graphs, unpad_graphs
from graphcondense.tasks import GraphTask


class TextbookGCN(nn.Module):
    """The paper's network with PyG's layers; the same weights also run on dense graphs."""

    def __init__(self, in_features: int, outputs: int, config: NetworkConfig) -> None:
        super().__init__()
        widths = [in_features, *[config.hidden] * config.layers]
        self.convs = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))
        self.head = nn.Linear(config.hidden, outputs)
        self.norm = InstanceNorm(config.hidden) if config.norm in ("instance", "nodes") else None
        self.by_graph = config.norm == "instance"
        self.pooling = config.pooling

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """Outputs for a sparse batch, ``G x O``."""
        for conv in self.convs:
            x = conv(x, edge_index)
            x = torch.relu(x if self.norm is None else self.norm(x, batch if self.by_graph else None))
        pool = global_mean_pool if self.pooling == "mean" else global_add_pool
        return self.head(pool(x, batch))

    def forward_dense(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """Outputs for dense graphs, features ``G x n x d`` and adjacency ``G x n x n``."""
        looped = adjacency + torch.eye(adjacency.shape[-1])
        scale = looped.sum(-1).rsqrt()
        normal = scale.unsqueeze(-1) * looped * scale.unsqueeze(-2)
        for conv in self.convs:
            x = normal @ conv.lin(x) + conv.bias
            if self.norm is not None:
                over = (1,) if self.by_graph else (0, 1)
                mean = x.mean(over, keepdim=True)
                x = (x - mean) / torch.sqrt((x - mean).square().mean(over, keepdim=True) + 1e-5)
            x = torch.relu(x)
        return self.head(x.mean(1) if self.pooling == "mean" else x.sum(1))


def mean_loss(outputs: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy, binary on one logit."""
    if outputs.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], y.float())
    return nn.functional.cross_entropy(outputs, y)


class Textbook:
    """One condensation, iteration by iteration.

    Args:
        task: the dataset.
        settings: the method's settings, read by the same names as the package reads them.
        start: positions of the training graphs to start from, class after class.
    """

    def __init__(self, task: GraphTask, settings: DosCond, start: Tensor) -> None:
        self.task, self.settings = task, settings
        graphs: list[Data] = list(task.train)
        self.classes = [[g for g in graphs if int(g.y) == label] for label in range(task.num_classes)]
        nodes = settings.num_nodes(task)
        chosen = task.train.subset(start)
        adjacency, x, _ = pad_graphs(chosen, nodes)
        self.y, self.directed, self.density = chosen.y, chosen.directed, float(adjacency.mean())
        self.logits = ((2 * adjacency - 1) * settings.logit_strength).requires_grad_()
        self.x = x.requires_grad_()
        self.optimisers = self.fresh_optimisers(1.0)

    def fresh_optimisers(self, factor: float) -> list[torch.optim.Adam]:
        """Adam for the features and Adam for the structure."""
        rates = ((self.x, self.settings.feature_rate), (self.logits, self.settings.structure_rate))
        return [torch.optim.Adam([tensor], rate * factor) for tensor, rate in rates]

    def result(self) -> GraphStore:
        """The learned graphs with their discrete structure."""
        logits = self.logits.detach()
        adjacency = ((logits if self.directed else logits + logits.mT) > 0).float() * (1 - torch.eye(logits.shape[-1]))
        sizes = torch.full((len(self.y),), logits.shape[-1])
        return unpad_graphs(adjacency, self.x.detach(), sizes, self.y, self.directed)

    def real_gradient(self, model: TextbookGCN, graphs: list[Data]) -> list[Tensor]:
        """Gradient of a batch of real graphs."""
        batch = Batch.from_data_list(graphs)
        loss = mean_loss(model(batch.x, batch.edge_index, batch.batch), batch.y)
        return list(torch.autograd.grad(loss, list(model.parameters())))

    def sample(self, temperature: float) -> Tensor:
        """A relaxed draw of all structures."""
        uniform = torch.rand_like(self.logits).clamp(1e-20, 1 - 1e-7)
        noise, logits = torch.log(uniform) - torch.log(1 - uniform), self.logits
        if not self.directed:
            noise = noise.triu(1) + noise.triu(1).mT
            logits = (logits + logits.mT) / 2
        n = logits.shape[-1]
        return torch.sigmoid((noise + logits) / temperature) * (1 - torch.eye(n))

    def matching_loss(self, model: TextbookGCN, adjacency: Tensor, real: list[list[Data]]) -> Tensor:
        """Sum over the classes of the relative squared distance (or that of one joint gradient)."""
        groups = [(self.y == label).nonzero().flatten() for label in range(self.task.num_classes)]
        if self.settings.match == "joint":
            groups, real = [torch.cat(groups)], [[graph for graphs in real for graph in graphs]]
        total = torch.zeros(())
        for members, graphs in zip(groups, real, strict=True):
            target = self.real_gradient(model, graphs)
            loss = mean_loss(model.forward_dense(self.x[members], adjacency[members]), self.y[members])
            ours = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            one = torch.cat([part.flatten() for part in ours])
            two = torch.cat([part.flatten() for part in target])
            total = total + (one - two).square().sum() / two.square().sum()
        return total

    def iteration(self, number: int) -> float:
        """One iteration of the algorithm; the loss."""
        settings = self.settings
        if number == settings.restart_at:
            self.optimisers = self.fresh_optimisers(0.1)
        model = TextbookGCN(self.task.num_features, self.task.num_outputs, settings.network)
        size = 10**9 if settings.real_batch == "all" else int(settings.real_batch)
        real = [[graphs[i] for i in torch.randperm(len(graphs))[:size]] for graphs in self.classes]
        loss = self.matching_loss(model, self.sample(settings.temperature(number)), real)
        loss = loss + settings.sparsity_weight * torch.relu(torch.sigmoid(self.logits).mean() - self.density)
        for optimiser in self.optimisers:
            optimiser.zero_grad()
        loss.backward()
        for optimiser in self.optimisers:
            optimiser.step()
        return float(loss.detach())


def train_seed(task: GraphTask, train: list[Data], protocol: Protocol, seed: int, epochs: int) -> float:
    """One evaluation seed, plainly: train with a PyG loader, score all validation graphs after each epoch, then test.

    Args:
        task: the dataset, for validation and test.
        train: the graphs to train on.
        protocol: network and recipe; its number of epochs decides where the rate falls.
        seed: of the weights and of the order of batches.
        epochs: how many of them to run.
    """
    torch.manual_seed(seed)
    recipe = protocol.recipe
    model = TextbookGCN(task.num_features, task.num_outputs, protocol.network)
    optimiser = torch.optim.Adam(model.parameters(), recipe.rate, weight_decay=recipe.weight_decay)
    loader = DataLoader(train, recipe.batch_size, shuffle=True)
    val, test = (DataLoader(list(graphs), recipe.batch_size) for graphs in (task.val, task.test))
    best, kept = -1.0, model.state_dict()
    for epoch in range(epochs):
        recipe.set_rate(optimiser, epoch)
        for batch in loader:
            optimiser.zero_grad()
            mean_loss(model(batch.x, batch.edge_index, batch.batch), batch.y).backward()
            optimiser.step()
        if (score := _score(model, val, task.metric)) > best:
            best, kept = score, {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(kept)
    return _score(model, test, task.metric)


@torch.no_grad()
def _score(model: TextbookGCN, loader: DataLoader, metric: str) -> float:
    outputs, labels = [], []
    for batch in loader:
        outputs.append(model(batch.x, batch.edge_index, batch.batch))
        labels.append(batch.y)
    return float(METRICS[metric](torch.cat(outputs).unsqueeze(0), torch.cat(labels))[0])
