from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv, global_mean_pool

from graphcondense.errors import InputError
from graphcondense.graphs import GraphStore
from graphcondense.metrics import accuracy
from graphcondense.models import Network, NetworkConfig
from graphcondense.real import batch as batches
from graphcondense.training import Recipe, predict, prediction_batches, train, trainer
from tests.made_up import toy_task

TASK = toy_task()
NETWORK = Network(NetworkConfig(hidden=8, layers=2), 4, 2)


@pytest.mark.parametrize("norm", ["none", "batch", "nodes"])
@pytest.mark.parametrize("batch_size", [16, 500])
def test_together_is_one_by_one(batch_size: int, norm: str) -> None:
    network = Network(NetworkConfig(hidden=8, layers=2, norm=norm), 4, 2)
    recipe = Recipe(epochs=6, batch_size=batch_size, rate=0.01)
    together = train(network, TASK.train, TASK.val, [3, 4, 5], recipe, "accuracy")
    for position, seed in enumerate((3, 4, 5)):
        alone = train(network, TASK.train, TASK.val, [seed], recipe, "accuracy")
        assert together.val_scores[position] == alone.val_scores[0]
        assert together.best_epochs[position] == alone.best_epochs[0]
        for name in network.parameter_names:
            torch.testing.assert_close(together.weights[name][position], alone.weights[name][0], rtol=1e-3, atol=1e-4)


def test_training_is_that_of_a_plain_pyg_loop() -> None:
    """The same weights, trained by PyG's layers, torch's Adam and a DataLoader, end at the same place."""

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2, self.head = GCNConv(4, 8), GCNConv(8, 8), torch.nn.Linear(8, 2)

        def forward(self, data):  # type: ignore[no-untyped-def]
            h = torch.relu(self.conv1(data.x, data.edge_index))
            h = torch.relu(self.conv2(h, data.edge_index))
            return self.head(global_mean_pool(h, data.batch))

    start = NETWORK.draw_seeds([0])
    plain = Plain()
    plain.load_state_dict(
        {
            "conv1.lin.weight": start["conv1.weight"][0].T,
            "conv1.bias": start["conv1.bias"][0],
            "conv2.lin.weight": start["conv2.weight"][0].T,
            "conv2.bias": start["conv2.bias"][0],
            "head.weight": start["head.weight"][0].T,
            "head.bias": start["head.bias"][0],
        }
    )
    epochs, rate = 8, 0.02
    optimiser = torch.optim.Adam(plain.parameters(), rate)
    loader = DataLoader(list(TASK.train), batch_size=1000)
    held_out = next(iter(DataLoader(list(TASK.val), batch_size=1000)))
    best, kept = -1.0, plain.state_dict()
    for epoch in range(epochs):
        if epoch == epochs // 2:
            optimiser.param_groups[0]["lr"] = rate / 10
        for data in loader:
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(plain(data), data.y).backward()
            optimiser.step()
        score = float(accuracy(plain(held_out), held_out.y))
        if score > best:
            best, kept = score, copy.deepcopy(plain.state_dict())
    ours = train(NETWORK, TASK.train, TASK.val, [0], Recipe(epochs=epochs, batch_size=1000, rate=rate), "accuracy")
    assert float(ours.val_scores[0]) == pytest.approx(best)
    torch.testing.assert_close(ours.weights["conv1.weight"][0].T, kept["conv1.lin.weight"], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(ours.weights["head.bias"][0], kept["head.bias"], rtol=1e-3, atol=1e-4)


def test_learns_the_toy_task() -> None:
    trained = train(NETWORK, TASK.train, TASK.val, [0, 1], Recipe(epochs=60, rate=0.01), "accuracy")
    assert float(accuracy(trained.outputs(TASK.test), TASK.test.y).min()) >= 0.8


def test_the_first_of_equally_good_epochs_is_kept() -> None:
    single = TASK.val.subset(torch.tensor([0]))
    trained = train(NETWORK, TASK.train, single, [0, 1, 2, 3], Recipe(epochs=30, rate=0.01), "accuracy")
    reached = trained.best_epochs[trained.val_scores == 1]
    assert len(reached) and int(reached.min()) < 30


def test_predictions_do_not_depend_on_how_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = NETWORK.draw_seeds(range(5))
    whole = predict(NETWORK, weights, {}, prediction_batches(NETWORK, TASK.train))
    monkeypatch.setattr(trainer, "_MOST_NODES", 50)
    monkeypatch.setattr(trainer, "_CACHED_FLOATS", 1)
    batches = prediction_batches(NETWORK, TASK.train)
    assert len(batches) > 5
    torch.testing.assert_close(predict(NETWORK, weights, {}, batches), whole)


@pytest.mark.parametrize("batch_size", [16, 500])
def test_training_does_not_depend_on_how_batches_are_cut(monkeypatch: pytest.MonkeyPatch, batch_size: int) -> None:
    x = torch.rand(TASK.train.x.shape, generator=torch.Generator().manual_seed(0))  # rows that no two nodes share
    graphs, recipe = replace(TASK.train, x=x), Recipe(epochs=6, batch_size=batch_size, rate=0.01)
    whole = train(NETWORK, graphs, TASK.val, [3, 4], recipe, "accuracy")
    monkeypatch.setattr(batches, "CACHED_ROWS", 20)
    assert len(NETWORK.prepare(graphs).batches(torch.arange(16))) > 2
    parts = train(NETWORK, graphs, TASK.val, [3, 4], recipe, "accuracy")
    assert torch.equal(whole.best_epochs, parts.best_epochs)
    for name in NETWORK.parameter_names:
        torch.testing.assert_close(parts.weights[name], whole.weights[name], rtol=1e-3, atol=1e-4)


def test_order_of_batches_matters_not_for_one_batch_and_progress_counts_epochs() -> None:
    seen: list[tuple[int, int]] = []
    recipe = Recipe(epochs=3, batch_size=1000)
    train(NETWORK, TASK.train, TASK.val, [0], recipe, "accuracy", lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_soft_labels_train_like_hard_ones_when_they_are_certain() -> None:
    certain = torch.nn.functional.one_hot(TASK.train.y, 2).float()
    soft = GraphStore(**{**vars(TASK.train), "y": certain})
    recipe = Recipe(epochs=3)
    one = train(NETWORK, TASK.train, TASK.val, [0], recipe, "accuracy")
    two = train(NETWORK, soft, TASK.val, [0], recipe, "accuracy")
    torch.testing.assert_close(one.weights["head.weight"], two.weights["head.weight"])


@pytest.mark.parametrize("norm", ["none", "batch", "nodes"])
@pytest.mark.parametrize("pooling", ["mean", "sum"])
def test_the_last_layer_makes_outputs_of_embeddings(norm: str, pooling: str) -> None:
    network = Network(NetworkConfig(hidden=8, layers=2, norm=norm, pooling=pooling), 4, 2)
    trained = train(network, TASK.train, TASK.val, [0, 1, 2], Recipe(epochs=4, batch_size=16, rate=0.01), "accuracy")
    embedded = trained.embeddings(TASK.test)
    assert embedded.shape == (3, len(TASK.test), 8) and not embedded.requires_grad
    head = torch.bmm(embedded, trained.weights["head.weight"]) + trained.weights["head.bias"].unsqueeze(1)
    torch.testing.assert_close(head, trained.outputs(TASK.test))


def test_embeddings_do_not_depend_on_how_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = train(NETWORK, TASK.train, TASK.val, [0, 1], Recipe(epochs=2), "accuracy")
    whole = trained.embeddings(TASK.train)
    monkeypatch.setattr(trainer, "_MOST_NODES", 50)
    assert len(prediction_batches(NETWORK, TASK.train)) > 5
    torch.testing.assert_close(trained.embeddings(TASK.train), whole)


def test_graphs_that_see_each_other_are_scored_in_batches_of_a_fixed_size(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(NetworkConfig(hidden=8, layers=2, norm="nodes"), 4, 2)
    trained = train(network, TASK.train, TASK.val, [0, 1], Recipe(epochs=2), "accuracy")
    whole = trained.outputs(TASK.train)
    monkeypatch.setattr(trainer, "_SCORED_TOGETHER", 9)
    parts = torch.arange(len(TASK.train)).split(9)
    monkeypatch.setattr(trainer, "_MOST_NODES", 50)  # batches that are cut for speed's sake are not what counts here
    apart = torch.cat([trained.outputs(TASK.train.subset(part)) for part in parts], dim=1)
    torch.testing.assert_close(trained.outputs(TASK.train), apart)
    assert not torch.allclose(apart, whole)


def test_looking_every_epoch_is_the_default() -> None:
    plain, every = (
        train(NETWORK, TASK.train, TASK.val, [0, 1], recipe, "accuracy")
        for recipe in (Recipe(epochs=5, rate=0.01), Recipe(epochs=5, rate=0.01, validate_every=1))
    )
    assert torch.equal(plain.best_epochs, every.best_epochs)
    assert all(torch.equal(plain.weights[name], every.weights[name]) for name in plain.weights)


@pytest.mark.parametrize(("every", "looked"), [(2, {2, 4, 6, 7}), (3, {3, 6, 7}), (7, {7}), (100, {7})])
def test_only_every_few_epochs_and_the_last_are_looked_at(every: int, looked: set[int]) -> None:
    recipe = Recipe(epochs=7, batch_size=16, rate=0.03, validate_every=every)
    assert {epoch + 1 for epoch in range(7) if recipe.validates(epoch)} == looked
    seeds = list(range(12))
    some = train(NETWORK, TASK.train, TASK.val, seeds, recipe, "accuracy")
    assert set(some.best_epochs.tolist()) <= looked
    all_looked_at = train(NETWORK, TASK.train, TASK.val, seeds, Recipe(epochs=7, batch_size=16, rate=0.03), "accuracy")
    assert not set(all_looked_at.best_epochs.tolist()) <= looked
    assert bool((some.val_scores <= all_looked_at.val_scores).all())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs=0 must be a whole number"),
        ({"batch_size": -1}, "batch_size=-1"),
        ({"rate": 0.0}, "rate=0.0 must be above zero"),
        ({"decay_at": 0}, "decay_at=0 must be in"),
        ({"validate_every": 0}, "validate_every=0 must be a whole number"),
        ({"weight_decay": -1.0}, "weight_decay=-1.0 must be a number of at least 0"),
    ],
)
def test_wrong_recipes_are_named(settings: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Recipe(**settings)  # type: ignore[arg-type]
