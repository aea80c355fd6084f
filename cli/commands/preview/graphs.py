"""Two previews of one stack against nothing, compared: the events of an update from the one to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from tensorplane.cli.commands.preview.property_path import UNKNOWN_VALUE
from tensorplane.components.base import outputs
from tensorplane.driver.update import protected_resources
from tensorplane.driver.update.engine_events import Event
from tensorplane.plugins.kubernetes import checkpoint, kinds
from tensorplane.plugins.kubernetes import diff as kubernetes_diff
from tensorplane.plugins.kubernetes.engine import Engine
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.settings import Settings
from tensorplane.plugins.preview import diff as cloud_diff

_KUBERNETES = "kubernetes:"
_CLAIM = ":PersistentVolumeClaim"
_VOLUME = f"{outputs.VOLUME}$"
_COMPONENT_PREFIX = "tensorplane:"
_BEFORE, _AFTER = "resourcePreEvent", "resOutputsEvent"
_KINDS = {"ADD": "add", "DELETE": "delete", "UPDATE": "update"}

_REPLACED = frozenset({"kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"})
"""Types that the program has replaced on every change, which the stream of a preview does not say."""

Replaces = Callable[[str, str], bool]
"""Whether a change of a property of a type of resource replaces it, as far as its cloud's documentation says."""
Follows = Callable[[str, str], str]
"""The property of a child, by the types of its parent and of itself, that names what only a new parent has; empty if
the child stays when its parent is replaced."""


@dataclass(frozen=True)
class Step:
    """What an update would do to one resource."""

    urn: str
    operation: str
    old: Mapping[str, Any]
    """Its state in the graph before, with `inputs` and, of a component, `outputs`; empty if it is new."""
    new: Mapping[str, Any]
    details: Mapping[str, str]
    """Kind of change by the path of each property; empty for components, whose inputs the report compares."""

    @property
    def protected(self) -> bool:
        """Whether the engine would refuse it."""
        return self.operation in ("delete", "replace") and bool(self.old.get("protect"))

    def events(self) -> Iterator[Event]:
        """As the engine would stream it."""
        detailed = {path: {"diffKind": kind} for path, kind in self.details.items()} or None
        metadata = {
            "op": self.operation,
            "urn": self.urn,
            "type": kinds.token(self.urn),
            "old": self.old or None,
            "new": self.new or None,
            "detailedDiff": detailed,
        }
        yield {_BEFORE: {"metadata": metadata}}
        if self.new:
            yield {_AFTER: {"metadata": metadata}}


def steps(
    before: Iterable[Event], after: Iterable[Event], replaces: Replaces, follows: Follows = lambda parent, child: ""
) -> list[Step]:
    """The steps from the graph of one preview to that of another; resources that go come first."""
    old, new = states(before), states(after)
    session = Session(Engine(None))
    # As the stack's own provider is configured.
    session.settings = Settings(enable_config_map_mutable=True)
    gone = (Step(urn, "delete", state, {}, {}) for urn, state in old.items() if urn not in new)
    stays = [_step(urn, old.get(urn), state, replaces, session) for urn, state in new.items()]
    replaced = {step.urn for step in stays if step.operation == "replace"}
    return [*gone, *(_following(step, replaced, follows) for step in stays)]


def _following(step: Step, replaced: Set[str], follows: Follows) -> Step:
    """A step whose resource is replaced with its parent; another one as it is."""
    parent = step.new.get("parent") or ""
    if parent not in replaced or step.operation not in ("same", "update"):
        return step
    path = follows(kinds.token(parent), kinds.token(step.urn))
    if not path:
        return step
    inputs = {**(step.new.get("inputs") or {}), path: UNKNOWN_VALUE}
    details = {**step.details, path: "update-replace"}
    return replace(step, operation="replace", new={**step.new, "inputs": inputs}, details=details)


def states(events: Iterable[Event]) -> dict[str, Mapping[str, Any]]:
    """The resources of a preview, by URN. The last event of each counts: a component has outputs only in its second."""
    found: dict[str, Mapping[str, Any]] = {}
    for event in events:
        metadata = (event.get(_BEFORE) or event.get(_AFTER) or {}).get("metadata", {})
        if metadata.get("new"):
            found[metadata["urn"]] = metadata["new"]
    return found


def refusals(steps: Iterable[Step]) -> list[str]:
    """What the engine would refuse, volumes first, without what is only the storage of a volume that is named."""
    protected_steps = [step for step in steps if step.protected]
    claims = [step for step in protected_steps if step.urn.split("::")[2].endswith(_CLAIM)]
    others = [step for step in protected_steps if not (claims and _VOLUME in step.urn)]
    lines = (
        protected_resources.describe_refusal(step.urn, replaced=step.operation == "replace")
        for step in [*claims, *others]
    )
    return [*dict.fromkeys(lines)]


def others(events: Iterable[Event]) -> Iterator[Event]:
    """What a preview says besides its resources: results of policies, and diagnostics."""
    return (event for event in events if _BEFORE not in event and _AFTER not in event)


def _step(
    urn: str, old: Mapping[str, Any] | None, new: Mapping[str, Any], replaces: Replaces, session: Session
) -> Step:
    if old is None:
        return Step(urn, "create", {}, new, {})
    before, after = old.get("inputs") or {}, new.get("inputs") or {}
    if before == after:
        return Step(urn, "same", old, new, {})
    token = kinds.token(urn)
    if token.startswith(_COMPONENT_PREFIX):
        return Step(urn, "update", old, new, {})
    if token.startswith(_KUBERNETES) and token != kinds.HELM_RELEASE:
        state = {**before, checkpoint.INPUTS: before}
        found = {
            path: _kind_name(kind)
            for path, kind in kubernetes_diff.diff(session, urn, state, after, []).detailed.items()
        }
    else:
        changes = cloud_diff.changes(before, after)
        found = {
            path: _kind_name(kind) + ("-replace" if replaces(token, path) else "") for path, kind in changes.items()
        }
    if not found:
        return Step(urn, "same", old, new, {})
    if token in _REPLACED:
        found = {path: kind if kind.endswith("-replace") else f"{kind}-replace" for path, kind in found.items()}
    replaced = any(kind.endswith("-replace") for kind in found.values())
    return Step(urn, "replace" if replaced else "update", old, new, found)


def _kind_name(kind: str) -> str:
    """`UPDATE_REPLACE` as the engine writes it in events: `update-replace`."""
    change, _, replaces = kind.partition("_")
    return _KINDS[change] + ("-replace" if replaces else "")
