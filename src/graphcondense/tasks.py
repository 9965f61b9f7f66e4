"""The words: a task is a dataset with its split, its classes and its metric."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from graphcondense.errors import InputError, check_choice
from graphcondense.graphs import GraphStore
from graphcondense.metrics import METRICS
from graphcondense.parts import Part


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of the training, validation and test graphs."""

    train: Tensor
    val: Tensor
    test: Tensor

    def __post_init__(self) -> None:
        for name in ("train", "val", "test"):
            if getattr(self, name).numel() == 0:
                raise InputError(f"the {name} split is empty: give it at least one, or let us split the data")


@dataclass(frozen=True, eq=False, repr=False)
class GraphTask:
    """Graph classification: many graphs, a label each.

    Args:
        name: what the dataset is called.
        graphs: all graphs, with labels 0 to ``num_classes - 1``.
        split: which graphs are for training, validation and test.
        num_classes: number of classes.
        metric: ``"accuracy"``, or ``"roc_auc"`` (two classes, learned as one logit with binary cross-entropy).
        class_names: the labels as they were before they became 0 to ``num_classes - 1``.
        notes: what was changed or assumed on the way in, one line each, for the user to read.
        position_features: columns of ``x`` that hold a node's row and column in a picture, from 0 to 1, if any do.
        source: what to give ``load`` to have the dataset again; empty for graphs that came from Python.
        feature_names: a name a column of ``x``, where the columns have names.
        part: where the training graphs are only those that this one of several processes has, all that is known of
            the others'.
    """

    name: str
    graphs: GraphStore
    split: Split
    num_classes: int
    metric: str = "accuracy"
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    position_features: tuple[int, int] | None = None
    source: str = ""
    feature_names: tuple[str, ...] = ()
    part: Part | None = None

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, METRICS)
        if self.metric == "roc_auc" and self.num_classes != 2:
            raise InputError(f"metric='roc_auc' needs 2 classes, {self.name} has {self.num_classes}: use 'accuracy'")

    def __repr__(self) -> str:
        parts = f"{len(self.split.train)}/{len(self.split.val)}/{len(self.split.test)} graphs"
        return (
            f"GraphTask({self.name}, {parts}, {self.num_features} features, {self.num_classes} classes, {self.metric})"
        )

    @property
    def num_features(self) -> int:
        """Width of a node's feature row."""
        return self.graphs.num_features

    @property
    def num_outputs(self) -> int:
        """Outputs of a network for this task: one logit for ROC-AUC, else one a class."""
        return 1 if self.metric == "roc_auc" else self.num_classes

    @cached_property
    def train(self) -> GraphStore:
        """The training graphs; those of this process, where there are several."""
        return self.graphs.subset(self.split.train)

    @cached_property
    def val(self) -> GraphStore:
        """The validation graphs."""
        return self.graphs.subset(self.split.val)

    @cached_property
    def test(self) -> GraphStore:
        """The test graphs."""
        return self.graphs.subset(self.split.test)

    @cached_property
    def train_class_counts(self) -> Tensor:
        """Training graphs of each class in all processes, ``num_classes``."""
        if self.part is not None:
            return self.part.class_counts
        return torch.bincount(self.train.y, minlength=self.num_classes)

    @cached_property
    def mean_nodes(self) -> float:
        """Nodes of a graph on average, over all graphs of all processes."""
        return float(self.graphs.num_nodes.double().mean()) if self.part is None else self.part.mean_nodes


@dataclass(frozen=True, eq=False, repr=False)
class NodeTask:
    """Node classification: one graph, a label a node.

    Args:
        name: what the dataset is called.
        graph: the graph; ``graph.y`` has the labels of its nodes, 0 to ``num_classes - 1``, or -1 for none.
        split: which nodes are for training, validation and test.
        num_classes: number of classes.
        inductive: whether nodes that are not for training, and their edges, are hidden until they are asked for.
            Otherwise (transductive) the whole graph is seen from the start, and only labels are hidden.
        metric: ``"accuracy"``.
        class_names: the labels as they were before they became 0 to ``num_classes - 1``.
        notes: what was changed or assumed on the way in, one line each, for the user to read.
        source: what to give ``load`` to have the dataset again; empty for a graph that came from Python.
    """

    name: str
    graph: GraphStore
    split: Split
    num_classes: int
    inductive: bool = False
    metric: str = "accuracy"
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    source: str = ""

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, ("accuracy",))

    def __repr__(self) -> str:
        parts = f"{len(self.split.train)}/{len(self.split.val)}/{len(self.split.test)} of {self.num_nodes:,} nodes"
        kind = "inductive" if self.inductive else "transductive"
        return f"NodeTask({self.name}, {kind}, {parts}, {self.num_features} features, {self.num_classes} classes)"

    @property
    def num_nodes(self) -> int:
        """Nodes of the whole graph."""
        return int(self.graph.x.shape[0])

    @property
    def num_features(self) -> int:
        """Width of a node's feature row."""
        return self.graph.num_features

    @property
    def num_outputs(self) -> int:
        """Outputs of a network: one a class."""
        return self.num_classes

    @cached_property
    def train(self) -> tuple[GraphStore, Tensor]:
        """The graph that training sees, and the places of the training nodes in it."""
        if not self.inductive:
            return self.graph, self.split.train
        return self.graph.induced(self.split.train), torch.arange(len(self.split.train))

    @cached_property
    def val(self) -> tuple[GraphStore, Tensor]:
        """The graph that validation sees (inductive: training and validation nodes), and the validation nodes in it."""
        if not self.inductive:
            return self.graph, self.split.val
        seen = torch.cat([self.split.train, self.split.val])
        return self.graph.induced(seen), torch.arange(len(self.split.train), len(seen))

    @property
    def test(self) -> tuple[GraphStore, Tensor]:
        """The whole graph, and the test nodes in it."""
        return self.graph, self.split.test

    @cached_property
    def train_class_counts(self) -> Tensor:
        """Training nodes of each class, ``num_classes``."""
        return torch.bincount(self.graph.y[self.split.train], minlength=self.num_classes)
