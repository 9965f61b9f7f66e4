from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from graphcondense.runs.statistics import LEVEL, annotate, break_even, supported


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.tuples(st.integers(2, 12), st.integers(2, 12)),
    gap=st.floats(-0.2, 0.2),
    spreads=st.tuples(st.floats(0.001, 0.1), st.floats(0.001, 0.1)),
)
def test_a_difference_is_supported_as_welchs_test_says(
    seed: int, sizes: tuple[int, int], gap: float, spreads: tuple[float, float]
) -> None:
    random = np.random.default_rng(seed)
    one, two = (random.normal(0.6 + gap * i, spreads[i], sizes[i]).tolist() for i in (0, 1))
    chance = float(stats.ttest_ind(one, two, equal_var=False).pvalue)
    assume(abs(chance - LEVEL) > 1e-9)
    assert supported(one, two) is (chance < LEVEL)
    assert supported(two, one) is supported(one, two)


def test_samples_without_spread_differ_if_their_values_do() -> None:
    assert supported([0.7, 0.7, 0.7], [0.7, 0.7]) is False
    assert supported([0.7, 0.7, 0.7], [0.71, 0.71]) is True
    rounded = [0.1 + 0.2, 0.3]
    assert rounded[0] != rounded[1]
    assert supported(rounded, [0.3, 0.3]) is False
    assert supported([0.3] * 3, [sum([0.1] * 3)] * 3) is False


def test_one_sample_without_spread_is_judged_by_the_others() -> None:
    assert supported([0.7] * 5, [0.5, 0.51, 0.49, 0.5]) is True
    assert supported([0.7] * 5, [0.1, 0.9, 0.5, 0.99]) is False


@pytest.mark.parametrize(("one", "two"), [([0.1], [0.9, 0.8]), ([0.9, 0.8], [0.1]), ([0.5], [0.5]), ([], [0.1, 0.2])])
def test_a_sample_of_one_tells_nothing(one: list[float], two: list[float]) -> None:
    assert supported(one, two) is None


def paid_after(condense: Fraction, train: Fraction, whole: Fraction) -> int | None:
    """Training after training, until the one with condensing is not behind; none after 10,000."""
    with_condensing, without = condense, Fraction(0)
    for trainings in range(1, 10_000):
        with_condensing, without = with_condensing + train, without + whole
        if with_condensing <= without:
            return trainings
    return None


@settings(deadline=None)
@given(condense=st.integers(0, 400), train=st.integers(0, 40), whole=st.integers(0, 40))
def test_condensing_pays_when_the_sums_of_times_say_so(condense: int, train: int, whole: int) -> None:
    # Quarters of a second are exact as floats, so a tie is a tie; 40 - 39 quarters pay 400 after 400.
    simulated = paid_after(*(Fraction(value, 4) for value in (condense, train, whole)))
    if condense == 0 and train == whole:
        assert break_even(0.0, train / 4, whole / 4) is None  # nothing is saved, though nothing was spent either
    else:
        assert break_even(condense / 4, train / 4, whole / 4) == simulated


# --- rows against each other -----------------------------------------------------------------------------------------


def a_row(method: str, size: int | None, means: list[float], **changes: Any) -> dict[str, Any]:
    values = {
        "dataset": "toy",
        "method": method,
        "graphs_per_class": size,
        "mean": float(np.mean(means)),
        "condensation_means": means,
        "condense_seconds": 20.0,
        "evaluate_seconds": 1.0,
    }
    return values | changes


def test_rows_stand_against_the_best_and_random_of_their_size() -> None:
    rows = [
        a_row("whole", None, [0.99, 0.98], evaluate_seconds=6.0),
        a_row("random", 1, [0.50, 0.52, 0.51], condense_seconds=0.0),
        a_row("herding", 1, [0.52, 0.50, 0.54]),
        a_row("doscond", 1, [0.70, 0.71, 0.72]),
        a_row("random", 10, [0.80, 0.81, 0.79], evaluate_seconds=6.0),
        a_row("doscond", 10, [0.79, 0.80, 0.795], evaluate_seconds=2.0),
    ]
    before = [dict(row) for row in rows]
    annotate(rows)
    whole, random, herding, doscond, _, few = rows
    assert whole == before[0]
    assert all(new.items() >= old.items() for new, old in zip(rows, before, strict=True))
    assert [row.get("is_best") for row in rows] == [None, False, False, True, True, False]
    assert doscond["vs_random"] == {"difference": pytest.approx(0.2), "supported": True}
    assert herding["vs_random"] == {"difference": pytest.approx(0.01), "supported": False}
    assert herding["vs_best"] == {"difference": pytest.approx(-0.19), "supported": True}
    assert random["vs_best"] == {"difference": pytest.approx(-0.2), "supported": True}
    assert few["vs_best"] == few["vs_random"] == {"difference": pytest.approx(-0.005), "supported": False}
    assert [("vs_best" in row, "vs_random" in row) for row in rows] == [
        (False, False),
        (True, False),
        (True, True),
        (False, True),
        (False, False),
        (True, True),
    ]
    assert [row.get("break_even", "absent") for row in rows] == ["absent", 1, 4, 4, None, 5]


def test_without_the_whole_set_or_random_there_is_nothing_to_say_of_them() -> None:
    rows = [a_row("herding", 1, [0.5, 0.6]), a_row("doscond", 1, [0.7, 0.6])]
    annotate(rows)
    assert all("break_even" not in row and "vs_random" not in row for row in rows)
    assert [row["is_best"] for row in rows] == [False, True]


def test_one_condensation_leaves_it_open() -> None:
    rows = [a_row("random", 1, [0.5]), a_row("doscond", 1, [0.7])]
    annotate(rows)
    assert rows[1]["vs_random"] == {"difference": pytest.approx(0.2), "supported": None}
    assert rows[0]["vs_best"]["supported"] is None


def test_equally_good_ones_are_all_best() -> None:
    rows = [a_row("random", 1, [0.5, 0.6]), a_row("doscond", 1, [0.6, 0.5]), a_row("dcg", 1, [0.5, 0.5])]
    annotate(rows)
    assert [row["is_best"] for row in rows] == [True, True, False]
    assert ["vs_best" in row for row in rows] == [False, False, True]
    assert rows[1]["vs_random"] == {"difference": 0, "supported": False}


def test_datasets_do_not_mix() -> None:
    rows = [
        a_row("whole", None, [0.9], evaluate_seconds=11.0),
        a_row("random", 1, [0.9, 0.8]),
        a_row("doscond", 1, [0.6, 0.5], dataset="other"),
    ]
    annotate(rows)
    assert [row.get("is_best") for row in rows] == [None, True, True]
    assert "vs_random" not in rows[2] and "break_even" not in rows[2]
    assert rows[1]["break_even"] == 2
