"""What a preview found: changes by property, policy verdicts, faults, and what the components register."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# In the order in which a reader wants them; what the engine does inside a replacement is one `replace` here.
OPERATIONS = ("delete", "replace", "update", "create", "import", "refresh", "discard")
OURS = "tensorplane:index:"
"""What the types of the stack's own components begin with."""

Facts = Mapping[str, Any]
"""The inputs of one component."""
Components = Mapping[str, Mapping[str, tuple[Facts, Facts]]]
"""By type and name of the stack's own components: what is deployed, empty where it is new; and what it would be, empty
where it is deleted."""


@dataclass(frozen=True)
class Property:
    """One changed property; `old` and `new` are texts fit to be shown, empty where there is nothing."""

    path: str
    old: str
    new: str
    replaces: bool


@dataclass(frozen=True)
class Change:
    """What would happen to one resource."""

    operation: str
    type: str
    name: str
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What one policy says; without messages, the stack complies."""

    policy: str
    pack: str
    level: str = ""
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """One preview of one stack."""

    stack: str
    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    components: Components = field(default_factory=dict)
    """The stack's own components, those that stay as they are too."""
    verdicts: tuple[Verdict, ...] = ()
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    """What keeps the bytes of volumes that would be deleted or replaced, a line each."""
    runs: tuple[str, ...] = ()
    """What becomes of the runs of training jobs, a line each."""
    stand_ins: tuple[tuple[str, str], ...] = ()
    """Packages of which a preview-only provider was asked, each with the reason why not the real one."""
    failed: bool = False

    @property
    def refused(self) -> bool:
        """Whether a policy that must be kept is not."""
        return any(verdict.messages and verdict.level == "mandatory" for verdict in self.verdicts)

    def count(self, operation: str) -> int:
        """How many resources an operation would touch."""
        return sum(change.operation == operation for change in self.changes)

    def registered(self, component: str) -> Mapping[str, tuple[Facts, Facts]]:
        """The components of a type, such as `Queue`, by name: before and after the update."""
        return self.components.get(f"{OURS}{component}", {})
