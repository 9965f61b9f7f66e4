from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import torch
from safetensors.torch import save_file

from graphcondense.graphs import GraphStore
from graphcondense.models import Network, NetworkConfig
from graphcondense.training import FolderStore, Recipe, Store, TrainedNetworks, store, train
from tests.made_up import toy_task

TASK = toy_task(60)
NETWORK = Network(NetworkConfig(hidden=8, layers=2), 4, 2)
RECIPE = Recipe(epochs=3, batch_size=16, rate=0.01)
MakeStore = Callable[[], Store]


@pytest.fixture(params=["memory", "folder"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    return Store if request.param == "memory" else lambda: FolderStore(tmp_path / "trained")


def ask(kept: Store, seeds: Sequence[int], **changes: Any) -> TrainedNetworks:
    arguments = {"network": NETWORK, "graphs": TASK.train, "val": TASK.val, "recipe": RECIPE, "metric": "accuracy"}
    return kept.train(seeds=seeds, **(arguments | changes))  # type: ignore[arg-type]


def same(one: TrainedNetworks, two: TrainedNetworks) -> bool:
    pairs = [(getattr(one, part), getattr(two, part)) for part in ("weights", "statistics")]
    return (
        torch.equal(one.val_scores, two.val_scores)
        and torch.equal(one.best_epochs, two.best_epochs)
        and all(list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a) for a, b in pairs)
    )


@pytest.fixture
def trained_seeds(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The seeds of each training that a store had done from here on."""
    calls: list[list[int]] = []

    def counted(network: Any, graphs: Any, val: Any, seeds: Sequence[int], *rest: Any) -> TrainedNetworks:
        calls.append(list(seeds))
        return train(network, graphs, val, seeds, *rest)

    monkeypatch.setattr(store, "train", counted)
    return calls


def forbid_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def no(*_: Any) -> NoReturn:
        pytest.fail("trained again")

    monkeypatch.setattr(store, "train", no)


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_the_networks_are_those_of_plain_training_the_first_time_and_later(make: MakeStore, norm: str) -> None:
    network = Network(NetworkConfig(hidden=8, layers=2, norm=norm), 4, 2)
    plain = train(network, TASK.train, TASK.val, [3, 1], RECIPE, "accuracy")
    kept = make()
    assert same(ask(kept, [3, 1], network=network), plain)
    recalled = ask(kept, [3, 1], network=network)
    assert same(recalled, plain)
    assert torch.equal(recalled.outputs(TASK.test), plain.outputs(TASK.test))


def test_nothing_is_trained_twice(make: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = make()
    first = ask(kept, [0, 1])
    forbid_training(monkeypatch)
    assert same(ask(kept, [0, 1]), first)


def test_another_process_finds_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(NetworkConfig(hidden=8, layers=2, norm="batch"), 4, 2)
    first = ask(FolderStore(tmp_path / "a" / "b"), [0, 1], network=network)
    forbid_training(monkeypatch)
    assert same(ask(FolderStore(tmp_path / "a" / "b"), [0, 1], network=network), first)
    assert len(list((tmp_path / "a" / "b").iterdir())) == 2


def test_no_folder_is_made_before_there_is_something_to_keep(tmp_path: Path) -> None:
    FolderStore(tmp_path / "trained")
    assert list(tmp_path.iterdir()) == []


def test_the_order_of_seeds_is_kept_and_only_missing_ones_are_trained(
    make: MakeStore, trained_seeds: list[list[int]]
) -> None:
    kept = make()
    ask(kept, [5, 2])
    mixed = ask(kept, [7, 2, 9, 5])
    assert trained_seeds == [[5, 2], [7, 9]]
    plain = train(NETWORK, TASK.train, TASK.val, [7, 2, 9, 5], RECIPE, "accuracy")
    for name in NETWORK.parameter_names:
        torch.testing.assert_close(mixed.weights[name], plain.weights[name], rtol=1e-3, atol=1e-4)
    assert torch.equal(mixed.best_epochs, plain.best_epochs)


def test_a_seed_that_is_asked_for_twice_is_trained_once(make: MakeStore, trained_seeds: list[list[int]]) -> None:
    twice = ask(make(), [4, 4])
    assert trained_seeds == [[4]] and len(twice) == 2
    assert torch.equal(twice.weights["head.weight"][0], twice.weights["head.weight"][1])


def test_saved_seconds_are_those_that_the_recalled_networks_had_taken(
    make: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([10.0, 16.0, 20.0, 25.0])  # 6 seconds for two networks, then 5 for one
    monkeypatch.setattr(store, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    kept = make()
    ask(kept, [0, 1])
    ask(kept, [2])
    assert kept.saved_seconds == 0
    ask(kept, [1, 2])
    assert kept.saved_seconds == 3 + 5
    ask(kept, [0])
    assert kept.saved_seconds == 3 + 5 + 3


def test_seconds_are_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 6.0])
    monkeypatch.setattr(store, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    ask(FolderStore(tmp_path), [0, 1])
    again = FolderStore(tmp_path)
    ask(again, [0, 1])
    assert again.saved_seconds == 6


def changed_features(graphs: GraphStore) -> GraphStore:
    x = graphs.x.clone()
    x[-1, -1] += 1
    return replace(graphs, x=x)


def changed_label(graphs: GraphStore) -> GraphStore:
    y = graphs.y.clone()
    y[0] = 1 - y[0]
    return replace(graphs, y=y)


@pytest.mark.parametrize(
    "changes",
    [
        {"recipe": replace(RECIPE, epochs=4)},
        {"recipe": replace(RECIPE, validate_every=2)},
        {"graphs": changed_features(TASK.train)},
        {"graphs": changed_label(TASK.train)},
        {"graphs": TASK.train.subset(torch.arange(len(TASK.train) - 1))},
        {"graphs": TASK.train.subset(torch.arange(len(TASK.train) - 1, -1, -1))},
        {"val": changed_label(TASK.val)},
        {"network": Network(NetworkConfig("sage", hidden=8, layers=2), 4, 2)},
        {"network": Network(NetworkConfig(hidden=8, layers=2, pooling="sum"), 4, 2)},
        {"metric": "roc_auc", "network": Network(NetworkConfig(hidden=8, layers=2), 4, 1)},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_anything_else_is_another_network(
    make: MakeStore, trained_seeds: list[list[int]], changes: dict[str, Any]
) -> None:
    kept = make()
    before = ask(kept, [0])
    ask(kept, [0], **changes)
    assert trained_seeds == [[0], [0]]
    assert same(ask(kept, [0]), before)
    assert trained_seeds == [[0], [0]]


def test_another_metric_alone_is_another_network() -> None:
    names = {store.fingerprint(NETWORK, TASK.train, TASK.val, RECIPE, metric) for metric in ("accuracy", "roc_auc")}
    assert len(names) == 2


def test_another_structure_of_the_same_size_is_another_network() -> None:
    edges = TASK.train.edge_index.clone()
    edges[:, :2] = edges[:, :2].flip(0)
    other = replace(TASK.train, edge_index=edges)
    assert store.fingerprint(NETWORK, other, TASK.val, RECIPE, "accuracy") != store.fingerprint(
        NETWORK, TASK.train, TASK.val, RECIPE, "accuracy"
    )


def test_graphs_without_edges_have_a_name_too() -> None:
    bare = GraphStore(
        x=TASK.val.x,
        edge_index=torch.empty(2, 0, dtype=torch.long),
        node_ptr=TASK.val.node_ptr,
        edge_ptr=torch.zeros_like(TASK.val.edge_ptr),
        y=TASK.val.y,
    )
    names = [store.fingerprint(NETWORK, graphs, TASK.val, RECIPE, "accuracy") for graphs in (bare, bare, TASK.val)]
    assert names[0] == names[1] != names[2]


def test_only_the_newest_are_kept_in_memory(trained_seeds: list[list[int]]) -> None:
    kept = Store(most=2)
    together = ask(kept, [0, 1, 2])
    assert len(together) == 3
    ask(kept, [1, 2])
    assert len(trained_seeds) == 1
    ask(kept, [0])
    assert trained_seeds[1:] == [[0]]


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-7])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def other_network(file: Path) -> None:
    other = Network(NetworkConfig(hidden=4, layers=2), 4, 2).draw(torch.Generator())
    facts = '{"val_score": 1, "best_epoch": 1, "seconds": 1}'
    save_file(other, file, {"trained": facts})


def without_a_weight(file: Path) -> None:
    weights = NETWORK.draw(torch.Generator())
    del weights["head.bias"]
    save_file(weights, file, {"trained": '{"val_score": 1, "best_epoch": 1, "seconds": 1}'})


def with_metadata(metadata: dict[str, str] | None) -> Callable[[Path], None]:
    return lambda file: save_file(NETWORK.draw(torch.Generator()), file, metadata)


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        empty,
        other_network,
        without_a_weight,
        with_metadata(None),
        with_metadata({"trained": "{"}),
        with_metadata({"trained": "[]"}),
        with_metadata({"trained": '{"val_score": 1}'}),
        with_metadata({"trained": '{"val_score": "high", "best_epoch": 1, "seconds": 1}'}),
        with_metadata({"format": "pt"}),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_trained_again(
    tmp_path: Path, damage: Callable[[Path], None], trained_seeds: list[list[int]]
) -> None:
    first = ask(FolderStore(tmp_path), [0])
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    damage(file)
    assert file.read_bytes() != whole
    assert same(ask(FolderStore(tmp_path), [0]), first)
    assert trained_seeds == [[0], [0]]
    assert same(ask(FolderStore(tmp_path), [0]), first)  # and it was mended
    assert len(trained_seeds) == 2


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_groups_of_seeds_give_the_same_and_progress_reaches_the_end(
    make: MakeStore, monkeypatch: pytest.MonkeyPatch, trained_seeds: list[list[int]], groups: int
) -> None:
    seeds = [4, 3, 2, 1, 0]
    together = {1: 5, 2: 3, 5: 1}[groups]
    rows = RECIPE.batch_size * int(TASK.train.num_nodes.sum()) / len(TASK.train)
    monkeypatch.setattr(store, "_TOGETHER", rows * (together + 0.5) if together > 1 else 1)
    seen: list[tuple[int, int]] = []
    grouped = ask(make(), seeds, progress=lambda done, total: seen.append((done, total)))
    assert trained_seeds == [seeds[start : start + together] for start in range(0, 5, together)]
    end = groups * RECIPE.epochs
    assert seen == [(done, end) for done in range(1, end + 1)]
    plain = train(NETWORK, TASK.train, TASK.val, seeds, RECIPE, "accuracy")
    assert torch.equal(grouped.best_epochs, plain.best_epochs)
    for name in NETWORK.parameter_names:
        torch.testing.assert_close(grouped.weights[name], plain.weights[name], rtol=1e-3, atol=1e-4)


def test_progress_of_the_missing_ones_reaches_the_end(make: MakeStore) -> None:
    kept = make()
    ask(kept, [0, 1])
    seen: list[tuple[int, int]] = []
    ask(kept, [0, 5, 1], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_what_is_done_with_a_result_does_not_reach_the_store(make: MakeStore) -> None:
    kept = make()
    plain = train(NETWORK, TASK.train, TASK.val, [0], RECIPE, "accuracy")
    for _ in range(2):
        result = ask(kept, [0])
        assert same(result, plain)
        for weight in result.weights.values():
            weight.zero_()
