from __future__ import annotations

import pytest
import torch

from graphcondense.datasets.splits import permutation_split, stratified_parts, stratified_split
from graphcondense.errors import InputError


@pytest.mark.parametrize(("number", "seed"), [(188, 0), (4110, 0), (1178, 3)])
def test_the_permutation_is_the_one_of_the_global_generator(number: int, seed: int) -> None:
    split = permutation_split(number, seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        order = torch.randperm(number)
    assert torch.equal(torch.cat([split.test, split.val, split.train]), order)
    assert len(split.test) == len(split.val) == -(-number // 10)


def test_splitting_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    permutation_split(50, 1)
    stratified_split(torch.arange(50) % 2, 1)
    assert torch.equal(before, torch.get_rng_state())


def test_each_class_is_split_by_tenths() -> None:
    y = torch.tensor([0] * 100 + [1] * 50 + [2] * 7 + [3] * 2)[torch.randperm(159)]
    split = stratified_split(y, seed=4)
    counts = [torch.bincount(y[part], minlength=4).tolist() for part in (split.train, split.val, split.test)]
    assert counts == [[80, 40, 5, 2], [10, 5, 1, 0], [10, 5, 1, 0]]
    everything = torch.cat([split.train, split.val, split.test])
    assert torch.equal(everything.sort().values, torch.arange(159))


def test_the_seed_decides() -> None:
    y = torch.arange(100) % 3
    assert torch.equal(stratified_split(y, 0).test, stratified_split(y, 0).test)
    assert not torch.equal(stratified_split(y, 0).test, stratified_split(y, 1).test)


def test_too_few_graphs_are_refused() -> None:
    with pytest.raises(InputError, match="the largest class has 2, 3 are needed: give more graphs"):
        stratified_parts(torch.tensor([0, 0, 1]), parts=2, seed=0)
    assert [len(part) for part in stratified_parts(torch.tensor([0, 0, 1]), parts=1, seed=0)] == [1, 2]
