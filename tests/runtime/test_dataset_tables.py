"""Tables: the columns of Parquet files as pyarrow wrote them, and commits that do not fit the schema."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tensorplane.datasets import Dataset, Refused, parquet
from tensorplane.datasets.table import Table

_TABLES = Path(__file__).parent / "tables"
"""Written by pyarrow 26.0.1."""
_POINTS = Table({"x": "float32", "label": "int64"}, ("day",))


def test_columns_of_every_type() -> None:
    found = parquet.columns(_TABLES / "every-type.parquet")
    integers = ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"]
    others = ["float32", "float64", "string", "binary", "date", "timestamp", "nested", "nested", "decimal", "fixed"]
    assert list(found.values()) == ["bool", *integers, *others, "int64"]
    assert list(found)[-1] == "Å"
    assert {*found.values()} <= parquet.TYPES


@pytest.mark.parametrize("cut", [0, 3, 11, 100, 700])
def test_a_file_that_is_cut_off_is_no_parquet_file(tmp_path: Path, cut: int) -> None:
    content = (_TABLES / "points.parquet").read_bytes()
    (tmp_path / "cut").write_bytes(content[:cut])
    with pytest.raises(ValueError, match="Parquet file"):
        parquet.columns(tmp_path / "cut")


def test_a_damaged_footer_is_refused(tmp_path: Path) -> None:
    content = bytearray((_TABLES / "points.parquet").read_bytes())
    for place in range(len(content) - 300, len(content) - 8, 7):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            parquet.columns(tmp_path / "damaged")
        except (ValueError, UnicodeDecodeError):
            continue


def test_a_table_takes_only_files_that_fit(tmp_path: Path) -> None:
    dataset, folder = Dataset(tmp_path / "dataset"), tmp_path / "folder"
    for day in ("day=1", "day=2"):
        (folder / day).mkdir(parents=True)
        shutil.copy(_TABLES / "points.parquet", folder / day / "part-0.parquet")
    (folder / "_SUCCESS").touch()
    first = dataset.commit(folder, check=_POINTS.check)
    shutil.copy(_TABLES / "points.parquet", folder / "part-1.parquet")
    shutil.copy(_TABLES / "every-type.parquet", folder / "day=1" / "part-0.parquet")
    (folder / "day=2" / "notes.txt").write_text("x")
    with pytest.raises(Refused) as caught:
        dataset.commit(folder, check=Table({"x": "float64", "e_i64": "int64"}, ("day",)).check)
    lines = str(caught.value).splitlines()
    assert "'day=1/part-0.parquet': column x is missing; the table has it as float64" in lines
    assert "'day=1/part-0.parquet': column a_bool is not in the table; remove it, or add it to the settings" in lines
    assert "'day=2/notes.txt': is no Parquet file; a table holds Parquet files" in lines
    assert "'part-1.parquet': is not where the table's partitions put it; name it day=VALUE/FILE.parquet" in lines
    assert "'part-1.parquet': column x is float32; the table has it as float64" in lines
    assert dataset.resolve().id == first.id
