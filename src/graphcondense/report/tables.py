"""Tables for the terminal: 80 columns are enough."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text


def score_text(mean: float, std: float | None, metric: str) -> str:
    """A score as the paper prints it: accuracy in percent, ROC-AUC as a fraction.

    >>> score_text(0.5802, 0.0105, "accuracy"), score_text(0.657, 0.034, "roc_auc")
    ('58.02 ± 1.05', '0.657 ± 0.034')
    """
    scale, digits = (100, 2) if metric == "accuracy" else (1, 3)
    text = f"{mean * scale:.{digits}f}"
    return text if std is None else f"{text} ± {std * scale:.{digits}f}"


def bytes_text(count: int) -> str:
    """A size that can be read at a glance.

    >>> bytes_text(812), bytes_text(48_211), bytes_text(3_500_000)
    ('812 B', '48 kB', '3.5 MB')
    """
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.0f} kB" if count < 999_500 else f"{count / 1e6:.1f} MB"


def seconds_text(seconds: float) -> str:
    """A time that can be read at a glance.

    >>> seconds_text(0.04), seconds_text(12.3), seconds_text(125)
    ('0.0 s', '12.3 s', '125 s')
    """
    return f"{seconds:.1f} s" if seconds < 99.95 else f"{seconds:.0f} s"


def share_text(share: float) -> str:
    """A share of the original's bytes; the header makes the whole set's a little more than all of them.

    >>> share_text(0.0312), share_text(1.013), share_text(3.5)
    ('3.1%', '101%', '350%')
    """
    return f"{share:.1%}" if share < 0.9995 else f"{share:.0%}"


def facts_table(facts: Sequence[tuple[str, object]]) -> Table:
    """Names and values, two columns."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(Text(name), Text(str(value)))
    return table
