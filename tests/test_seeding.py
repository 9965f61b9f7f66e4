from __future__ import annotations

import itertools

import torch

from graphcondense.seeding import generator


def draw(*name: object) -> list[float]:
    return torch.rand(4, generator=generator(*name)).tolist()  # type: ignore[arg-type]


def test_the_same_name_gives_the_same_numbers() -> None:
    assert draw(3, "theta") == draw(3, "theta")


def test_every_part_of_the_name_counts() -> None:
    names = [(0, "a"), (1, "a"), (0, "b"), (2**32, "a"), (2**40, "a")]
    for one, other in itertools.combinations(names, 2):
        assert draw(*one) != draw(*other), (one, other)


def test_streams_do_not_depend_on_the_global_state() -> None:
    torch.manual_seed(1)
    first = draw(0, "theta")
    torch.rand(100)
    state = torch.random.get_rng_state()
    assert draw(0, "theta") == first
    assert torch.equal(torch.random.get_rng_state(), state)


def test_neighbouring_seeds_are_not_alike() -> None:
    firsts = torch.tensor([draw(seed, "theta")[0] for seed in range(2000)])
    # 2,000 uniform numbers: the mean has a standard deviation of 0.0065, neighbours a correlation of 0.022
    assert abs(float(firsts.mean()) - 0.5) < 0.035
    assert abs(float(torch.corrcoef(torch.stack([firsts[1:], firsts[:-1]]))[0, 1])) < 0.12
