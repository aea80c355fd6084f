"""The streams that the job's settings declare: addresses, topics, consumer group and credentials."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tensorplane.errors import UsageError

VARIABLE = "STREAMS"


@dataclass(frozen=True)
class DeclaredStream:
    """One stream of the job's settings."""

    bootstrap: str
    topics: tuple[str, ...]
    group: str | None
    """The consumer group; None for a producer."""
    settings: Mapping[str, str] = field(repr=False)
    """Settings of librdkafka. A password may be among them, so they are never printed."""

    @classmethod
    def of(cls, name: str, environment: Mapping[str, str] = os.environ) -> DeclaredStream:
        """The stream of this name. Raises UsageError with the declared names if there is none."""
        streams = json.loads(environment.get(VARIABLE) or "{}")
        if name not in streams:
            raise UsageError(
                f"no stream {name!r} in the job's `streams` ({', '.join(sorted(streams)) or 'none'}); declare it there"
            )
        found = streams[name]
        settings = dict(found["settings"])
        if "passwordFile" in found:
            settings["sasl.password"] = Path(found["passwordFile"]).read_text().strip("\n")
        return cls(found["bootstrap"], tuple(found["topics"]), found.get("group"), settings)

    def client(self) -> dict[str, str]:
        """Configuration for `confluent_kafka.Producer`."""
        return {**self.settings, "bootstrap.servers": self.bootstrap}

    def topic(self, name: str | None = None) -> str:
        """The topic of this name; by default the only one."""
        if name is None and len(self.topics) == 1:
            return self.topics[0]
        if name not in self.topics:
            raise UsageError(f"topic: {name} is not a topic of this stream; choose one of {', '.join(self.topics)}")
        return name
