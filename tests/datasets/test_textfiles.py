from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from graphcondense.datasets.textfiles import read_column, read_table
from graphcondense.errors import FileFormatError, MissingDataError


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text", ["1,2\n3,4\n", "1, 2\n3, 4", "1,2\n  \n3,4\n \n", " 1 ,2 \r\n\r\n3,  4\n\n\n", "\ufeff1,2\n3.0,4e0\n"]
)
def test_spaces_blank_lines_and_whole_floats_do_not_matter(tmp_path: Path, text: str) -> None:
    table = read_table(written(tmp_path, text), columns=2)
    assert table.dtype == np.int64
    assert table.tolist() == [[1, 2], [3, 4]]


def test_one_row_and_one_column_are_still_tables(tmp_path: Path) -> None:
    assert read_table(written(tmp_path, "5\n")).shape == (1, 1)
    assert read_column(written(tmp_path, "5\n-6\n")).tolist() == [5, -6]
    assert read_table(written(tmp_path, "0.5,1\n"), whole=False).tolist() == [[0.5, 1.0]]


def test_a_gzipped_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"1\n2\n"))
    assert read_column(path).tolist() == [1, 2]
    path.write_bytes(gzip.compress(b"1\n2\n" * 100)[:-9])
    with pytest.raises(FileFormatError, match=r"a\.csv\.gz is damaged .* fetch the file anew"):
        read_column(path)
    path.write_bytes(b"1\n2\n")
    with pytest.raises(FileFormatError, match="is damaged"):
        read_column(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n\n3,x\n", r"table\.txt, line 3: 'x' is not a whole number: mend it"),
        ("1,2\n3\n", r"table\.txt, line 2: 2 whole numbers expected, got '3'"),
        ("1,2\n3,\n", r"line 2: '' is not a whole number"),
        ("1,2\n3,4.5\n", r"line 2: '4.5' is not a whole number"),
        ("1,2\n3,nan\n", r"line 2: 'nan' is not a whole number"),
        ("1,2\n3,1e300\n", r"line 2: '1e300' is not a whole number"),
        ("1,2,3\n", r"line 1: 2 whole numbers expected, got '1,2,3'"),
        ("# 1,2\n", r"line 1: '# 1' is not a whole number"),
        ("<html>" * 20 + "\n", r"line 1: 2 whole numbers expected, got '(<html>)+<\.\.\.'"),
        (" \n\n", r"table\.txt is empty: fetch the file anew"),
    ],
)
def test_the_wrong_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read_table(written(tmp_path, text), columns=2)


def test_wrong_numbers_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="line 2: 1 numbers expected, got '1,5'"):
        read_table(written(tmp_path, "1.5\n1,5\n"), whole=False)
    with pytest.raises(FileFormatError, match="line 2: '--' is not a number"):
        read_table(written(tmp_path, "1.5\n--\n"), whole=False)


def test_absent_and_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"nothing\.txt is missing: put it there"):
        read_table(tmp_path / "nothing.txt")
    with pytest.raises(MissingDataError, match="cannot be read"):
        read_table(tmp_path)
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match=r"binary\.txt is not text in UTF-8"):
        read_table(tmp_path / "binary.txt")
