"""How much of the paper's protocol an experiment runs, and what that leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphcondense.errors import check_count
from graphcondense.presets import Preset, preset
from graphcondense.tasks import GraphTask, NodeTask


@dataclass(frozen=True)
class Effort:
    """The size of an experiment; the defaults are the paper's protocol.

    Args:
        condense_seeds: condensations for each method and size.
        eval_seeds: trainings for each condensation.
        iterations: of a condensation; ``None`` for the preset's.
        epochs: of a training; ``None`` for the preset's.
        validate_every: epochs from one look at the validation graphs to the next.
        methods: the only ones of an experiment's methods that are run; ``None`` for all.
        sizes: graphs per class instead of the experiment's; ``None`` for those.
    """

    condense_seeds: int = 5
    eval_seeds: int = 10
    iterations: int | None = None
    epochs: int | None = None
    validate_every: int = 1
    methods: tuple[str, ...] | None = None
    sizes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and name not in ("methods", "sizes"):
                check_count(name, value)
        for size in self.sizes or ():
            check_count("graphs_per_class", size)

    def only(self, methods: Sequence[str]) -> list[str]:
        """Those of ``methods`` that are run."""
        return [method for method in methods if self.methods is None or method in self.methods]

    def preset(self, task: GraphTask | NodeTask, name: str = "paper") -> Preset:
        """The paper's settings for ``task``, or those of another preset, cut to this effort."""
        whole = preset(name, task)
        epochs = self.epochs or whole.recipe.epochs
        recipe = replace(whole.recipe, epochs=epochs, validate_every=self.validate_every)
        condense, special = whole.condense, whole.special
        if self.iterations is not None:
            condense = condense | {"iterations": self.iterations}
            special = {name: own | {"iterations": self.iterations} for name, own in special.items()}
        return replace(whole, recipe=recipe, condense=condense, special=special)

    def cuts(self, task: GraphTask | NodeTask) -> list[str]:
        """What is less than the paper's protocol, in words."""
        paper = preset("paper", task)
        pairs = [
            (self.condense_seeds, FULL.condense_seeds, "condensations"),
            (self.eval_seeds, FULL.eval_seeds, "trainings for each"),
            (self.iterations or paper.condense["iterations"], paper.condense["iterations"], "iterations"),
            (self.epochs or paper.recipe.epochs, paper.recipe.epochs, "epochs"),
        ]
        words = [f"{ours:,} {what} of {theirs:,}" for ours, theirs, what in pairs if ours < theirs]
        if self.validate_every > 1:
            words.append(f"validated every {self.validate_every} epochs instead of every one")
        if self.methods is not None:
            words.append(f"only {', '.join(self.methods)}")
        if self.sizes is not None:
            words.append(f"only {', '.join(map(str, self.sizes))} graphs per class")
        return words


FULL = Effort()
