"""The paper's tables and figures, each by one command."""

from types import MappingProxyType

from graphcondense.reproduce.beyond import Beyond, BeyondSplits
from graphcondense.reproduce.effort import FULL, Effort
from graphcondense.reproduce.experiment import Bench, Experiment, Result, paper
from graphcondense.reproduce.figures import BiLevel, Embeddings, Size, Sparsity, Terms
from graphcondense.reproduce.table1 import Splits, Table1
from graphcondense.reproduce.table2 import Table2
from graphcondense.reproduce.table3 import Table3

EXPERIMENTS: MappingProxyType[str, Experiment] = MappingProxyType(
    {
        one.name: one
        for one in (
            Table1(),
            Beyond(),
            Splits(),
            BeyondSplits(),
            Table2(),
            Table3(),
            Size(),
            BiLevel(),
            Sparsity(),
            Terms(),
            Embeddings(),
        )
    }
)

__all__ = ["EXPERIMENTS", "FULL", "Bench", "Effort", "Experiment", "Result", "paper"]
