"""What a run must remember to go on as if it had never stopped, as plain tensors by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

State = dict[str, Tensor]


def prefixed(prefix: str, state: Mapping[str, Tensor]) -> State:
    """The same tensors with longer names."""
    return {f"{prefix}.{name}": value for name, value in state.items()}


def part_of(state: Mapping[str, Tensor], prefix: str) -> State:
    """The tensors below ``prefix``, with their own names: the inverse of :func:`prefixed`.

    >>> list(part_of({"adam.0": torch.ones(1), "x": torch.ones(1)}, "adam"))
    ['0']
    """
    return {name.removeprefix(f"{prefix}."): value for name, value in state.items() if name.startswith(f"{prefix}.")}


def optimiser_state(optimiser: torch.optim.Optimizer) -> State:
    """Rates, and what Adam keeps for each tensor (nothing before its first step)."""
    rates = [float(group["lr"]) for group in optimiser.param_groups]
    state = {"rates": torch.tensor(rates, dtype=torch.float64)}
    for place, tensor in enumerate(_tensors(optimiser)):
        state |= {f"{place}.{name}": value.clone() for name, value in optimiser.state.get(tensor, {}).items()}
    return state


def load_optimiser(optimiser: torch.optim.Optimizer, state: Mapping[str, Tensor]) -> None:
    """Put back what :func:`optimiser_state` gave."""
    for group, rate in zip(optimiser.param_groups, state["rates"].double().flatten().tolist(), strict=True):
        group["lr"] = rate
    for place, tensor in enumerate(_tensors(optimiser)):
        own = part_of(state, str(place))
        if own:
            check_like(own["step"], torch.zeros(()))
            for name in ("exp_avg", "exp_avg_sq"):
                check_like(own[name], tensor)
            optimiser.state[tensor] = {name: value.clone() for name, value in own.items()}
        else:
            optimiser.state.pop(tensor, None)


def save(
    learned: Iterable[Tensor],
    optimisers: Sequence[torch.optim.Optimizer | None],
    sources: Mapping[str, torch.Generator],
) -> State:
    """Tensors, optimisers and random streams as they are now."""
    state = prefixed("learned", copies(learned))
    for place, optimiser in enumerate(optimisers):
        if optimiser is not None:
            state |= prefixed(f"adam{place}", optimiser_state(optimiser))
    return state | {f"random.{name}": source.get_state() for name, source in sources.items()}


def restore(
    state: Mapping[str, Tensor],
    learned: Iterable[Tensor],
    optimisers: Sequence[torch.optim.Optimizer | None],
    sources: Mapping[str, torch.Generator],
) -> None:
    """Put back what :func:`save` gave, into the very same tensors."""
    load_copies(learned, part_of(state, "learned"))
    for place, optimiser in enumerate(optimisers):
        if optimiser is not None:
            load_optimiser(optimiser, part_of(state, f"adam{place}"))
    for name, source in sources.items():
        source.set_state(state[f"random.{name}"].clone())


def copies(tensors: Iterable[Tensor]) -> State:
    """Tensors by number, as they are now."""
    return {str(place): tensor.detach().clone() for place, tensor in enumerate(tensors)}


@torch.no_grad()
def load_copies(tensors: Iterable[Tensor], state: Mapping[str, Tensor]) -> None:
    """Put numbers back into tensors that others hold, too."""
    for place, tensor in enumerate(tensors):
        check_like(state[str(place)], tensor)
        tensor.copy_(state[str(place)])


def check_like(value: Tensor, tensor: Tensor) -> None:
    """Raise unless ``value``, of a file, can take the place of ``tensor``: compiled optimisers believe every shape."""
    if value.shape != tensor.shape or value.dtype != tensor.dtype:
        raise ValueError(f"{tuple(value.shape)} {value.dtype} in the place of {tuple(tensor.shape)} {tensor.dtype}")


def _tensors(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    return [tensor for group in optimiser.param_groups for tensor in group["params"]]
