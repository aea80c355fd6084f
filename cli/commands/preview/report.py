"""What a preview found: changes by property, policies' results, errors, and what the components register."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.property_path import BETWEEN
from tensorplane.driver.update.data_at_risk import Risk
from tensorplane.plugins.cloud_models.coverage import Coverage

# In the order of the report; the engine's steps of a replacement are one `replace` here.
OPERATIONS = ("delete", "replace", "update", "create", "import", "refresh", "discard")
OURS = "tensorplane:index:"
"""The prefix of the types of the stack's own components."""

Outputs = Mapping[str, Any]
"""The inputs of one component."""
Components = Mapping[str, Mapping[str, tuple[Outputs, Outputs]]]
"""By type and name of the stack's own components: deployed inputs, empty if new; new inputs, empty if deleted."""


@dataclass(frozen=True)
class Property:
    """A changed property; `old` and `new` are texts for people, empty without a value."""

    path: str
    old: str
    new: str
    replaces: bool
    full_values: str = ""
    """Both values in full, which tell it from another whose texts are truncated alike. Empty if they are short."""

    @property
    def values(self) -> tuple[str, str]:
        """Both values in full; of very long ones, the texts."""
        before, between, after = self.full_values.partition(BETWEEN)
        return (before if self.old else "", after if self.new else "") if between else (self.old, self.new)


@dataclass(frozen=True)
class Change:
    """What would happen to one resource."""

    operation: str
    type: str
    name: str
    properties: tuple[Property, ...] = ()
    is_protected: bool = False
    """Whether it would be deleted or replaced although it is protected, which the engine refuses."""


@dataclass(frozen=True)
class PolicyResult:
    """The result of a policy; without messages, the stack complies."""

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
    """The stack's own components, also unchanged ones."""
    pods_before: tuple[Pods, ...] = ()
    pods_after: tuple[Pods, ...] = ()
    starts: Mapping[str, str] = field(default_factory=dict)
    """What volumes start with, if they are new; empty text for those that start empty."""
    admission: tuple[str, ...] = ()
    """Names of the ValidatingAdmissionPolicies that the stack has after the update."""
    unprotected: tuple[str, ...] = ()
    """Resources that the update no longer protects from deletion, as `Namespace vision`."""
    policy_results: tuple[PolicyResult, ...] = ()
    policy_changes: tuple[str, ...] = ()
    """What the change does to the policies by which it is judged, a line each; not known against a deployed state."""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    risks: tuple[Risk, ...] = ()
    """Data that the update deletes, replaces or leaves unprotected; what stops the update comes first."""
    runs: tuple[str, ...] = ()
    """What happens to the runs of training jobs, a line each."""
    durations: Mapping[str, float] = field(default_factory=dict)
    """Seconds that the last finished run of each training job took; without those of which the cluster knows none."""
    stand_ins: tuple[tuple[str, str], ...] = ()
    """Packages whose preview-only provider was used, each with the reason why not the real one."""
    values: tuple[Coverage, ...] = ()
    """Which values the preview-only providers could check, by type of resource."""
    compared_with: str = ""
    """The commit with which the preview was compared; empty if it was the deployed state."""
    stack_removed: bool = False
    """Whether the stack's file no longer exists, so that everything it declared is deleted."""
    picture: str = ""
    """The path of the picture of the stack from the report's folder; empty without one."""
    pipelines: str = ""
    """The path of the picture of pipelines that change, likewise."""
    failed: bool = False

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all components, and of the resources that change."""
        of_components = (name for found in self.components.values() for name in found)
        return frozenset((*of_components, *(change.name for change in self.changes)))

    @property
    def violates_policy(self) -> bool:
        """Whether a mandatory policy is violated, which refuses the update."""
        return any(result.messages and result.level == "mandatory" for result in self.policy_results)

    @property
    def stopped_by_risk(self) -> bool:
        """Whether a risk of data stops the update."""
        return any(risk.stops_update for risk in self.risks)

    @property
    def touches_protected(self) -> bool:
        """Whether it deletes or replaces what is protected, so that the engine refuses the update."""
        return any(change.is_protected for change in self.changes)

    @property
    def when(self) -> str:
        """Under which condition anything of it happens; empty for an update that a deployment just makes."""
        after = "once that is run" if self.stack_removed else ""
        if not self.stopped_by_risk:
            return after
        return f"{after} and no longer refused" if after else "if it were not refused"

    @property
    def must_not_run(self) -> bool:
        """Whether the update must not run: its preview failed, or data is at risk."""
        return self.failed or self.stopped_by_risk

    def of(self, operation: str) -> list[Change]:
        """What an operation would touch."""
        return [change for change in self.changes if change.operation == operation]

    def count(self, operation: str) -> int:
        """How many resources an operation would touch."""
        return len(self.of(operation))

    def registered(self, component: str) -> Mapping[str, tuple[Outputs, Outputs]]:
        """The components of a type, such as `Queue`, by name: before and after the update."""
        return self.components.get(f"{OURS}{component}", {})
