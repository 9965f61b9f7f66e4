from __future__ import annotations

import io

import pytest
from rich.console import Console

from graphcondense.methods import DosCond
from graphcondense.models import NetworkConfig
from graphcondense.runs.progress import ProgressCallback, progress_bar
from tests.made_up import toy_task


def test_a_condensation_moves_its_bar_step_by_step() -> None:
    seen: list[tuple[int, int]] = []
    method = DosCond(graphs_per_class=1, iterations=3, nodes=8, network=NetworkConfig(hidden=4, layers=1))
    method.condense(toy_task(40), [ProgressCallback(lambda done, total: seen.append((done, total)))])
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_nothing_is_drawn_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("working") as advance:
        advance(1, 2)
        advance.detail(1, 4)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_terminal_sees_both_bars_with_their_counts_and_the_time_left() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    with progress_bar("comparing", console) as advance:
        advance(3, 12)
        advance.detail(40, 500)
    text = screen.getvalue()
    assert "comparing" in text and "3/12" in text
    assert "this cell" in text and "40/500" in text
    assert "-:--:--" in text or "0:00:0" in text


def test_a_title_with_brackets_is_shown_as_it_is() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    with progress_bar("loading ./data[/old]", console) as advance:
        advance(1, 2)
    assert "./data[/old]" in screen.getvalue()
