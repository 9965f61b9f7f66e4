from __future__ import annotations

import pickle

import pytest

from graphcondense import errors
from graphcondense.errors import (
    FileFormatError,
    GraphcondenseError,
    InputError,
    MissingDataError,
    WouldOverwriteError,
    check_at_least,
    check_choice,
    check_count,
    unknown_name,
)

KINDS = [InputError, FileFormatError, MissingDataError, WouldOverwriteError]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_ours_shows_its_message_and_survives_a_worker_process(kind: type[GraphcondenseError]) -> None:
    error = kind("it's wrong: mend it")
    assert isinstance(error, GraphcondenseError)
    assert str(error) == "it's wrong: mend it"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error)


def test_errors_are_also_pythons_own_kinds() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(FileFormatError, ValueError)
    assert issubclass(MissingDataError, FileNotFoundError)
    assert issubclass(WouldOverwriteError, FileExistsError)
    ours = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)}
    assert ours == {GraphcondenseError, *KINDS}


@pytest.mark.parametrize(
    ("name", "hint"),
    [("mutagg", ": did you mean 'MUTAG'?"), ("NCI", ": did you mean 'NCI1'?"), ("zzzzzz", ""), ("", ""), (7, "")],
)
def test_an_unknown_name_gets_the_nearest_known_one(name: object, hint: str) -> None:
    error = unknown_name("dataset", name, ["MUTAG", "NCI1"])
    assert str(error) == f"unknown dataset {name!r}{hint} (known: MUTAG, NCI1)"


def test_check_choice_takes_the_known_names_only() -> None:
    assert check_choice("pooling", "sum", ("mean", "sum")) == "sum"
    with pytest.raises(InputError, match=r"unknown pooling 'max': .*\(known: mean, sum\)"):
        check_choice("pooling", "max", iter(("mean", "sum")))


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "3", None, float("nan")])
def test_check_count_refuses(value: object) -> None:
    with pytest.raises(InputError, match=r"^seeds=.* must be a whole number of at least 1$"):
        check_count("seeds", value)


def test_check_count_accepts_what_reaches_its_minimum() -> None:
    check_count("seeds", 1)
    check_count("seed", 0, minimum=0)
    with pytest.raises(InputError, match="at least 5"):
        check_count("seed", 4, minimum=5)


@pytest.mark.parametrize("value", [-0.1, True, "1", None, float("nan"), float("inf")])
def test_check_at_least_refuses(value: float) -> None:
    with pytest.raises(InputError, match=r"^rate=.* must be a number of at least 0$"):
        check_at_least("rate", value, 0)


def test_check_at_least_accepts_whole_and_broken_numbers() -> None:
    check_at_least("rate", 0, 0)
    check_at_least("rate", 0.5, 0.5)
