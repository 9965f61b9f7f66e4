from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphcondense.datasets.labelled_rows import LABELS, class_numbers, read_rows, splits_of
from graphcondense.errors import GraphcondenseError, InputError


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_are_read_whatever_separates_them(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(f'\ufefffile{separator}label\n\n"a b"{separator} 1\nc{separator}0\n', encoding="utf-8")
    rows = read_rows(path)
    assert rows.columns == ("file", "label") and rows.column("file") == ["a b", "c"]
    assert rows.column("label") == ["1", "0"] and rows.lines == (3, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,label\n", "has no rows below a header"),
        ("file,file\na,b\n", "line 1: column 'file' is there twice or has no name: rename it"),
        ("file,\na,b\n", "line 1: column '' is there twice or has no name: rename it"),
        ("file,label\na,1\nb\n", "line 3: 1 cells under 2 columns: mend it"),
        ('file,label\n"a,1\n', "line 2: not a table .*: mend it"),
        ("file,label\n" + "a" * 200_000 + ",1\n", "line 2: not a table .field larger than field limit"),
    ],
)
def test_broken_tables_are_named_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(text)
    with pytest.raises(GraphcondenseError, match=message):
        read_rows(path)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "0.35",
            "row 1 has label '0.35', which is a quantity: regression is not supported, put the values into classes",
        ),
        ("1e300", "regression is not supported"),
        ("[0, 1]", "one class is needed, multi-label tasks are not supported"),
        ("", "row 1 has no label: leave it out, or give it its class"),
        ("nan", "row 1 has no label"),
    ],
)
def test_labels_that_are_no_classes_are_refused(value: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("[", r"\[").replace(".", r"\.")):
        class_numbers(["1", value], ["row 0", "row 1"])


def test_the_columns_are_found_or_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("mol,Label,Split\nC,1,train\nN,0,valid\nO,1,Train\n")
    rows = read_rows(path)
    assert rows.pick(None, LABELS, "label") == "Label"
    places = ["a", "b", "c"]
    assert {part: index.tolist() for part, index in splits_of(rows, places).items()} == {"train": [0, 2], "val": [1]}
    with pytest.raises(InputError, match=r"has no column 'lebel': did you mean 'Label'\?"):
        rows.pick("lebel", LABELS, "label")
    with pytest.raises(InputError, match=r"none called smiles: name that of the smiles, own\.csv::smiles=COLUMN"):
        rows.pick(None, ("smiles",), "smiles")
    path.write_text("mol,label,split\nC,1,train\nN,0,later\n")
    with pytest.raises(InputError, match="b has split 'later': it must be train, val or test"):
        splits_of(read_rows(path), places[:2])
    path.write_text("mol,label,split\nC,1,test\nN,0,test\n")
    with pytest.raises(InputError, match="no split is train"):
        splits_of(read_rows(path), places[:2])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=100) | st.text(alphabet='ab,;"\n\r\t01.\0', max_size=60).map(str.encode))
def test_any_file_is_a_table_or_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes(content)
    try:
        rows = read_rows(path)
        y, names = class_numbers(rows.column(rows.columns[0]), [str(line) for line in rows.lines])
    except GraphcondenseError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert len(y) == len(rows.cells) and (not names or int(y.max()) < len(names))
        assert y.dtype == torch.long
