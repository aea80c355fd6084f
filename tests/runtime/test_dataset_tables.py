"""Tables: the columns of Parquet files as pyarrow wrote them, and commits that do not fit the schema."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tensorplane.datasets import Dataset, Refused, __main__, parquet
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


def test_a_file_with_two_columns_of_one_name_is_refused(dataset: Dataset, folder: Path) -> None:
    shutil.copy(_TABLES / "one-name-twice.parquet", folder / "a.parquet")
    with pytest.raises(Refused, match=r"^'a.parquet': has several columns a; give each a name of its own$"):
        dataset.commit(folder, check=Table({"a": "string"}))


_SAME = {"x": "float32", "label": "int64"}
_MORE = {**_SAME, "more": "int64"}
_FORMER = "were committed before the columns changed; commit all of them with the new columns at once"


def _write(folder: Path, *names: str, table: str = "points.parquet") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_TABLES / table, folder / name)


def test_files_of_former_columns_are_refused(dataset: Dataset, folder: Path) -> None:
    _write(folder, *(f"{number:02}.parquet" for number in range(12)))
    first = dataset.commit(folder, check=Table(_SAME))
    (folder / "_SUCCESS").touch()
    with pytest.raises(Refused) as caught:
        dataset.commit(folder, check=Table(_MORE))
    lines = str(caught.value).splitlines()
    assert lines[0] == "'00.parquet': column more is missing; the table has it as int64"
    assert lines[10] == "and 2 more files"
    assert lines[11:] == [f"12 of these files {_FORMER}, or set the former columns"]
    assert dataset.resolve().id == first.id
    every = parquet.columns(_TABLES / "every-type.parquet")
    shutil.rmtree(folder)
    _write(folder, "a.parquet", table="every-type.parquet")
    with pytest.raises(Refused, match="column x is missing"):
        dataset.commit(folder, check=Table(_SAME))
    assert dataset.commit(folder, check=Table(every)).files == 1


def test_files_that_another_committer_added_with_former_columns_are_refused(dataset: Dataset, folder: Path) -> None:
    """Its settings are those from before an update."""
    _write(folder, "a.parquet", table="every-type.parquet")
    every = Table(parquet.columns(_TABLES / "every-type.parquet"))
    first = dataset.commit(folder, check=every)
    points = io.BytesIO((_TABLES / "points.parquet").read_bytes())
    dataset.put({"b.parquet": dataset.keep(points), "a.parquet": None}, check=Table(_SAME))
    _write(folder, "c.parquet", table="every-type.parquet")
    with pytest.raises(Refused, match=r"'b.parquet': column \w+ is missing"):
        dataset.commit(folder, base=first.id, check=every)


def test_only_what_is_not_known_to_fit_is_read(dataset: Dataset, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(folder, "a.parquet", "b.parquet")
    dataset.commit(folder)
    read, columns = list[Path](), parquet.columns

    def noted(path: Path) -> dict[str, str]:
        read.append(path)
        return columns(path)

    monkeypatch.setattr(parquet, "columns", noted)
    counts = []
    for name in ("c.parquet", "d.parquet", "d.parquet"):
        _write(folder, name)
        dataset.commit(folder, check=Table(_SAME))
        counts.append(len(read))
        read.clear()
    assert counts == [3, 1, 0], "the first commit does not know what is there"


def _ask(dataset: Dataset, verb: str, asked: Mapping[str, Any]) -> None:
    __main__.main(verb, str(dataset.store.root), io.BytesIO(json.dumps(asked).encode() + b"\n"), io.BytesIO())


def test_a_rollback_to_other_columns_is_refused(dataset: Dataset, folder: Path) -> None:
    _write(folder, "a.parquet")
    _ask(dataset, "commit", {"folder": str(folder), "table": {"columns": _SAME}})
    shutil.rmtree(folder)
    _write(folder, "a.parquet", table="every-type.parquet")
    table = {"columns": parquet.columns(_TABLES / "every-type.parquet")}
    _ask(dataset, "commit", {"folder": str(folder), "table": table, "whole": True})
    head = dataset.resolve()
    with pytest.raises(Refused, match=r"'a.parquet': column x is not in the table"):
        _ask(dataset, "rollback", {"reference": "main~1", "table": table})
    assert dataset.resolve() == head
    _ask(dataset, "rollback", {"reference": "main~1", "table": {"columns": _SAME}})
    assert dataset.resolve().version == dataset.resolve("main~2").version
