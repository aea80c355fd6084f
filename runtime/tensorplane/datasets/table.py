"""Tables: datasets of Parquet files with one schema, which each commit must have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tensorplane.datasets import parquet
from tensorplane.datasets.refused import Refused

_HIDDEN = ("_", ".")
"""Files with such names, as _SUCCESS, are no part of a table, as in Spark and Hive."""


@dataclass(frozen=True)
class Table:
    """The schema of a table."""

    columns: Mapping[str, str]
    """Types of columns, by their names; see `parquet.TYPES`. Files have these and no others."""
    partitions: tuple[str, ...] = field(default=())
    """Columns that are in the paths instead: `day=2026-11-26/part-0.parquet`."""

    def check(self, files: Iterable[tuple[str, Path]]) -> None:
        """Raises Refused, with a line per fault, unless new files fit. Their paths and where their contents are."""
        faults = [f"{path!r}: {fault}" for path, content in files for fault in self._faults(path, content)]
        if faults:
            raise Refused("\n".join(faults))

    def _faults(self, path: str, content: Path) -> Iterator[str]:
        *folders, name = PurePosixPath(path).parts
        if name.startswith(_HIDDEN):
            return
        found = [folder.partition("=")[0] for folder in folders if "=" in folder]
        if found != [*self.partitions] or len(folders) != len(found):
            wanted = "/".join([*(f"{each}=VALUE" for each in self.partitions), "FILE.parquet"])
            yield f"is not where the table's partitions put it; name it {wanted}"
        try:
            columns = parquet.columns(content)
        except ValueError as error:
            yield f"{error}; a table holds Parquet files"
            return
        for column, kind in self.columns.items():
            if column not in columns:
                yield f"column {column} is missing; the table has it as {kind}"
            elif columns[column] != kind:
                yield f"column {column} is {columns[column]}; the table has it as {kind}"
        for column in columns.keys() - self.columns.keys():
            yield f"column {column} is not in the table; remove it, or add it to the settings"
