"""The cases of each rule in `cases/*.yaml`: what it refuses, in which words, and what it lets pass.

A resource is `Kind name: …` with the pod spec of a Pod, Deployment, StatefulSet, DaemonSet or Job, the outputs of a
component of ours, or `type name: …` with the properties of any other. `$namespace`, `$labels`, `$annotations`,
`$parent`, `$protect` and `$provider` (its settings) are set on the resource, which has no properties with `$empty`;
`!unknown` is a value that only the update knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.policies.recordings import registered
from tests.policies.stacks import UNKNOWN_OBJECT, Resource, workload

FOLDER = Path(__file__).parent / "cases"
_PODS: Mapping[str, str] = {
    "Deployment": "kubernetes:apps/v1:Deployment",
    "StatefulSet": "kubernetes:apps/v1:StatefulSet",
    "DaemonSet": "kubernetes:apps/v1:DaemonSet",
    "Job": "kubernetes:batch/v1:Job",
}
_METADATA = ("namespace", "labels", "annotations")
_BYSTANDERS: list[Resource] = [
    {"type": "aws:ec2/vpc:Vpc", "name": "bystander", "props": {"cidrBlock": "10.0.0.0/16", "tags": {"team": "ml"}}},
    {
        "type": "kubernetes:core/v1:ConfigMap",
        "name": "bystander",
        "props": {"metadata": {"name": "bystander", "labels": {"app.kubernetes.io/name": "x", "team": "ml"}}},
    },
]
"""In every stack, and no rule's business."""


class _Loader(yaml.SafeLoader):
    """YAML with `!unknown`."""


_Loader.add_constructor("!unknown", lambda loader, node: UNKNOWN_OBJECT)


@dataclass(frozen=True)
class Case:
    """One stack, and what a rule says about it."""

    rule: str
    name: str
    config: Mapping[str, Any]
    resources: list[Resource]
    says: tuple[str, ...]
    """A part of each message; none if the stack complies."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.name}"


def load() -> list[Case]:
    """All cases."""
    return [case for path in sorted(FOLDER.glob("*.yaml")) for case in _of_file(path)]


def _of_file(path: Path) -> Iterator[Case]:
    for rule, cases in yaml.load(path.read_text(), _Loader).items():  # a SafeLoader
        for kind in ("violating", "compliant") if not rule.startswith("_") else ():
            for name, case in cases[kind].items():
                says = case.get("says", ())
                told = (says,) if isinstance(says, str) else tuple(says)
                assert bool(told) == (kind == "violating"), f"{rule}: {name}"
                made = [*_BYSTANDERS, *(_resource(title, given) for title, given in case["stack"].items())]
                yield Case(rule, name, case.get("config", {}), made, told)


def _resource(title: str, given: Any) -> Resource:
    kind, _, name = title.partition(" ")
    body = dict(given or {})
    set_on = {key: body.pop(f"${key}") for key in ("parent", "protect", "provider") if f"${key}" in body}
    metadata = {"name": name, **{key: body.pop(f"${key}") for key in _METADATA if f"${key}" in body}}
    if f"tensorplane:index:{kind}" in registered():
        return {**workload(kind, name, **body), **set_on}
    token, props = kind, body
    if kind in _PODS:
        top = {key: body.pop(f"${key}") for key in ("replicas", "parallelism") if f"${key}" in body}
        annotations = {"annotations": metadata.pop("annotations")} if "annotations" in metadata else {}
        template = {"metadata": {"labels": metadata.get("labels", {}), **annotations}, "spec": body}
        token, props = _PODS[kind], {"metadata": metadata, "spec": {**top, "template": template}}
    elif kind == "Pod":
        token, props = "kubernetes:core/v1:Pod", {"metadata": metadata, "spec": body}
    elif kind.startswith("kubernetes:") and not body.pop("$empty", False):
        props = {"metadata": metadata, **body}
    return {"type": token, "name": name, "parent": "", "props": props, **set_on}
