"""Which inputs a cloud's model limits, and which nobody checks before the cloud does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tensorplane.plugins.cloud_models.pairs import Pair

_MESSAGE_PREFIX = "tensorplane-values "


@dataclass(frozen=True)
class Coverage:
    """The inputs of one type of resource, by path without indices. True and false need no check."""

    token: str
    model: str
    """The package with the cloud's model and its version; empty if none is installed."""
    limited: frozenset[str] = frozenset()
    """Inputs whose values the model limits."""
    free: frozenset[str] = frozenset()
    """Inputs that the model has, and takes any value of their type."""
    absent: frozenset[str] = frozenset()
    """Inputs without a counterpart in the model."""

    @property
    def package(self) -> str:
        """The package of the type, such as `aws`."""
        return self.token.partition(":")[0]

    @property
    def unchecked(self) -> frozenset[str]:
        """Inputs whose values only the cloud checks."""
        return self.free | self.absent

    @classmethod
    def of(cls, token: str, model: str, pairs: Iterable[Pair]) -> Coverage:
        """The coverage of one resource's values."""
        limited: set[str] = set()
        free: set[str] = set()
        absent: set[str] = set()
        for pair in pairs:
            if isinstance(pair.value, dict | list | bool) or (pair.shape and pair.shape.is_logical):
                continue
            (absent if pair.shape is None else limited if pair.shape.limits.any else free).add(pair.input)
        return cls(token, model, frozenset(limited), frozenset(free - limited), frozenset(absent))

    def and_of(self, other: Coverage) -> Coverage:
        """The coverage of two resources of the same type."""
        limited = self.limited | other.limited
        free = (self.free | other.free) - limited
        return Coverage(self.token, self.model or other.model, limited, free, self.absent | other.absent)

    def message(self) -> str:
        """As the provider tells it to the engine, which hands it on as an event."""
        parts = {name: sorted(getattr(self, name)) for name in ("limited", "free", "absent")}
        return _MESSAGE_PREFIX + json.dumps({"token": self.token, "model": self.model, **parts})

    @classmethod
    def read(cls, message: str) -> Coverage | None:
        """The coverage in a message of the engine; None if it is another message."""
        if not message.startswith(_MESSAGE_PREFIX):
            return None
        found: dict[str, Any] = json.loads(message.removeprefix(_MESSAGE_PREFIX))
        sets = {name: frozenset(found[name]) for name in ("limited", "free", "absent")}
        return cls(found["token"], found["model"], **sets)
