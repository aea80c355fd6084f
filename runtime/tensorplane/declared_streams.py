"""The streams that the settings gave this pod: addresses, topics, consumer group, and what proves who it is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

VARIABLE = "STREAMS"


@dataclass(frozen=True)
class DeclaredStream:
    """One stream, as the settings of the job name it."""

    bootstrap: str
    topics: tuple[str, ...]
    group: str | None
    """The consumer group; None where the job writes."""
    settings: Mapping[str, str] = field(repr=False)
    """Settings of librdkafka. A password may be among them, so they are never printed."""

    @classmethod
    def of(cls, name: str, environment: Mapping[str, str] = os.environ) -> DeclaredStream:
        """The stream of this name. ValueError says what there is instead."""
        told = json.loads(environment.get(VARIABLE) or "{}")
        if name not in told:
            raise ValueError(
                f"no stream {name!r} among the job's `streams`: {', '.join(sorted(told)) or 'there is none'}"
            )
        found = told[name]
        settings = dict(found["settings"])
        if "passwordFile" in found:
            settings["sasl.password"] = Path(found["passwordFile"]).read_text().strip("\n")
        return cls(found["bootstrap"], tuple(found["topics"]), found.get("group"), settings)

    def client(self) -> dict[str, str]:
        """What `confluent_kafka.Producer` takes."""
        return {**self.settings, "bootstrap.servers": self.bootstrap}

    def topic(self, name: str | None = None) -> str:
        """The topic of this name, or the only one."""
        if name is None and len(self.topics) == 1:
            return self.topics[0]
        if name not in self.topics:
            raise ValueError(f"topic: got {name}, need one of {', '.join(self.topics)}")
        return name
