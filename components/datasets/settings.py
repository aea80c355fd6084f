"""Settings of a dataset."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from tensorplane.components.base.model import Line, Model, Name, NonEmptyStr, each_once, refuse_all_but

ColumnType = Literal[
    "binary",
    "bool",
    "date",
    "decimal",
    "fixed",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "int96",
    "nested",
    "string",
    "timestamp",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]
"""Types of Parquet's columns; `nested` is a list, map or structure."""


def _check_path(value: str) -> str:
    if any(part in ("", ".", "..") for part in value.split("/")):
        refuse_all_but("a path from the volume's root, such as datasets/digits")
    return value


class TableArgs(Model):
    """The schema of a table, a dataset of Parquet files. A commit with a file that does not fit is refused."""

    columns: Annotated[dict[NonEmptyStr, ColumnType], Field(min_length=1)]
    """Types of all columns that each file has, by their names."""
    partitions: Annotated[tuple[NonEmptyStr, ...], AfterValidator(each_once)] = ()
    """Columns that are in the files' paths instead, from the outermost folder: `[day]` for `day=2026-11-26/a.parquet`.
    """


class RetentionArgs(Model):
    """Which commits keep their files. The newest of each branch, labeled ones and inputs of other datasets on the
    volume always do, and history stays. With both keys, what either keeps."""

    last: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """So many of the newest commits of each branch."""
    days: Annotated[float, Field(gt=0, le=36500)] | None = None
    """Commits that are not older, in days."""


class DatasetArgs(Model):
    """A named, versioned collection of files on a volume. `conflicts`, `table` and `retention` hold for `tensorplane
    data`, stages and recorders; a program that commits with the library passes them itself."""

    volume: Name
    """The volume that has all its versions."""
    path: Annotated[Line, AfterValidator(_check_path)] | None = None
    """Its folder on the volume; `datasets/NAME` by default."""
    table: TableArgs | None = None
    """The schema, if it is a table of Parquet files."""
    conflicts: Literal["refuse", "last"] = "refuse"
    """What happens if two commits change the same file: the later one is refused, or its file replaces the other."""
    retention: RetentionArgs | None = None
    """Which versions keep their files; all by default."""

    def folder(self, name: str) -> str:
        """The folder of the dataset of this name, from the volume's root."""
        return self.path or f"datasets/{name}"

    @property
    def rules(self) -> dict[str, Any]:
        """What each commit needs of the settings, as `tensorplane.datasets` reads it."""
        table = self.table.model_dump(mode="json") if self.table else None
        retention = self.retention.model_dump(mode="json") if self.retention else None
        return {"conflicts": self.conflicts, "table": table, "retention": retention}


def by_volume(datasets: Mapping[str, DatasetArgs]) -> dict[str, dict[str, str]]:
    """The folder of each dataset, from the root of its volume, by volume and dataset."""
    found: dict[str, dict[str, str]] = {}
    for name, args in datasets.items():
        found.setdefault(args.volume, {})[name] = args.folder(name)
    return found
