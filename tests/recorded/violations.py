"""Which steps of an update create, delete or replace something, or change what cannot be changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tensorplane.plugins.kubernetes import kinds
from tests.recorded import immutable
from tests.recorded.stacks import Step

# The engine lists a replacement as three steps; `replace` is the one that is reported.
_IGNORED = frozenset({"same", "read", "create-replacement", "delete-replaced"})
_JOB_SET = "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"


@dataclass(frozen=True)
class Violation:
    """A step that is not allowed."""

    operation: str
    type: str
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.operation} {self.type} {self.name}: {self.reason}"


@dataclass(frozen=True)
class Expected:
    """A step that is allowed: the operation, the type, a pattern of logical names, and why users lose nothing."""

    operation: str
    type: str
    name: str
    why: str

    def covers(self, found: Violation) -> bool:
        """Whether the step is the allowed one."""
        same = (self.operation, self.type) == (found.operation, found.type)
        return same and re.fullmatch(self.name, found.name) is not None


def unexpected(steps: Sequence[Step], expected: Iterable[Expected]) -> list[Violation]:
    """The violations that are not in `expected`."""
    allowed = list(expected)
    found = [each for each in _violations(steps) if not any(one.covers(each) for one in allowed)]
    return [*found, *_deleted_under_jobs(steps)]


def _violations(steps: Iterable[Step]) -> Iterator[Violation]:
    for step in steps:
        token, name, operation = kinds.token(step["urn"]), kinds.name(step["urn"]), step["op"]
        if operation in _IGNORED or not _is_deployed(step):
            continue
        if operation != "update":
            yield Violation(operation, token, name, ", ".join(step.get("replaceReasons") or ()) or step["urn"])
        elif changed := _refused(token, step.get("detailedDiff") or {}):
            yield Violation(operation, token, name, ", ".join(changed))


def _is_deployed(step: Step) -> bool:
    """Whether the step is about a resource of a provider. A component exists in Pulumi's state only."""
    return any((step.get(state) or {}).get("custom") for state in ("oldState", "newState"))


def _refused(token: str, paths: Iterable[str]) -> list[str]:
    """The changed properties that the API server refuses. For a cloud all: only its plugin knows which ones replace."""
    if token.startswith("kubernetes:"):
        return [path for path in paths if immutable.is_touched(token, path)]
    return list(paths)


def _deleted_under_jobs(steps: Sequence[Step]) -> Iterator[Violation]:
    """ConfigMaps that are deleted while a JobSet that stays mounts them: its pods could not restart."""
    deleted = {
        step["oldState"]["inputs"]["metadata"]["name"]: step["urn"]
        for step in steps
        if step["op"] in ("delete", "replace") and kinds.token(step["urn"]) == "kubernetes:core/v1:ConfigMap"
    }
    staying = [step for step in steps if kinds.token(step["urn"]) == _JOB_SET and step["op"] in ("same", "update")]
    for step in staying:
        text = json.dumps(step["newState"]["inputs"])
        for name in deleted:
            if f'"{name}"' in text:
                yield Violation("delete", "kubernetes:core/v1:ConfigMap", name, f"{kinds.name(step['urn'])} mounts it")
