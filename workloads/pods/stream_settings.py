"""How a workload uses the streams that it reads or writes."""

from typing import Self

from pydantic import model_validator

from components.base.model import Model, Name, refuse


class StreamUseArgs(Model):
    """How a workload uses a stream: it reads in a consumer group, or it writes."""

    group: Name | None = None
    """Consumer group in which the workload reads."""
    producer: Name | None = None
    """Producer as which the workload writes."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.group is None) == (self.producer is None):
            refuse("exactly one of group and producer")
        return self

    @property
    def client(self) -> str:
        """Name of the consumer group or producer."""
        return str(self.group or self.producer)
