"""What a stage of a pipeline reads: a dataset, in parts that are worked on apart from each other."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from components.base.model import Model, Name, NonEmptyStr, refuse
from components.base.value_types import MountPath
from components.datasets.settings import ColumnType
from workloads.pipeline.join_key import JoinKey

MAIN = "main"
_BRANCH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def _branch(value: str) -> str:
    if not set(value) <= _BRANCH or not value[0].isalnum() or len(value) > 128:
        refuse("the name of a branch: letters, digits, dots, dashes and underscores, at most 128")
    return value


Branch = Annotated[NonEmptyStr, AfterValidator(_branch)]
"""Branch of a dataset."""


class Split(Model):
    """Parts of an input: `whole`, `file`, `directory` or `{batch: 100}`."""

    by: Literal["whole", "file", "directory"] = "whole"
    """`whole`: all files together. `file`: each file. `directory`: each folder directly in the dataset, and each file
    beside them."""
    batch: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    """So many files on average. Where a batch ends depends on the names of its files alone, so a new file changes one
    batch."""

    @model_validator(mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return {"by": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.batch is not None and "by" in self.model_fields_set:
            refuse("one of by and batch, not both")
        return self

    @property
    def is_whole(self) -> bool:
        """Whether there is one part."""
        return self.batch is None and self.by == "whole"


class StageInput(Model):
    """A dataset that a stage reads. Its name alone is enough: `photos: raw`."""

    dataset: Name
    """A dataset of `datasets`. If another stage of the pipeline writes it, that stage runs before."""
    branch: Branch = MAIN
    """Branch whose newest version a run begins with."""
    split: Split = Split()
    """Parts that are worked on in pods of their own, and only if they changed. By default, the whole version."""
    key: JoinKey | None = None
    """With `join: name`, what its parts are joined by: a pattern of their names, whose parentheses hold the key, such
    as `(*).tar.gz` or `*_SHOP(*).csv`, or `{endings: [.jpg, .png]}`. Several parts with one key are then combined with
    each partner. By default the key is the name, of a file without what follows the last dot; two parts with one key
    are refused."""
    path: MountPath | None = None
    """Folder in which the program has it, if that is not `/in/NAME`."""
    columns: Annotated[dict[NonEmptyStr, ColumnType], Field(default_factory=dict)]
    """Columns that the stage needs, with their types, if the dataset is a table. They are compared with its schema."""

    @model_validator(mode="before")
    @classmethod
    def _dataset_alone(cls, value: Any) -> Any:
        return {"dataset": value} if isinstance(value, str) else value
