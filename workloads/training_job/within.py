"""Topology-aware placement of a job's pods."""

from typing import Any

from pydantic import model_validator

from components.base.model import Model, NonEmptyStr


class Within(Model):
    """Topology-aware placement. The level alone is enough: `within: zone`."""

    level: NonEmptyStr
    """A level of the stack's `topology`."""
    required: bool = True
    """Whether the job waits until one domain has room. If false, the pods are spread when none has."""

    @model_validator(mode="before")
    @classmethod
    def _level_alone(cls, value: Any) -> Any:
        return {"level": value} if isinstance(value, str) else value
