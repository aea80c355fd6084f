"""Tables: datasets of Parquet files with one schema, which each commit must have."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tensorplane.datasets import parquet
from tensorplane.datasets.errors import Refused

_HIDDEN = ("_", ".")
"""Files with such names, as _SUCCESS, are no part of a table, as in Spark and Hive."""
_MOST_FILES = 10
"""Files whose faults are told."""
_THREADS = 16


@dataclass(frozen=True)
class Table:
    """The schema of a table."""

    columns: Mapping[str, str]
    """Types of columns, by their names; see `parquet.TYPES`. Files have these and no others."""
    partitions: tuple[str, ...] = field(default=())
    """Columns that are in the paths instead: `day=2026-11-26/part-0.parquet`."""

    @property
    def id(self) -> str:
        """Of the schema: what fits one fits all with the same id."""
        return hashlib.sha256(json.dumps([dict(self.columns), self.partitions], sort_keys=True).encode()).hexdigest()

    def check(self, files: Iterable[tuple[str, Path]], former: Collection[str] = ()) -> None:
        """Raises Refused, with a line per fault, unless files fit. Their paths and where their contents are; `former`:
        paths of those that were committed before.
        """
        every = list(files)
        with ThreadPoolExecutor(_THREADS) as pool:
            told = pool.map(lambda file: (file[0], [f"{file[0]!r}: {each}" for each in self._faults(*file)]), every)
            found = {path: lines for path, lines in told if lines}
        if not found:
            return
        lines = [line for path in sorted(found)[:_MOST_FILES] for line in found[path]]
        if len(found) > _MOST_FILES:
            lines.append(f"and {len(found) - _MOST_FILES:,} more files")
        if old := found.keys() & set(former):
            remedy = "commit all of them with the new columns at once, or set the former columns"
            lines.append(f"{len(old):,} of these files were committed before the columns changed; {remedy}")
        raise Refused("\n".join(lines))

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
        except parquet.SameNameError as error:
            yield f"{error}; give each a name of its own"
            return
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
