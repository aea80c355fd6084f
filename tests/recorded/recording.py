"""Recordings of a stack's state: the part that decides whether an update replaces a resource, one resource a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes import force_new, kinds
from tensorplane.plugins.kubernetes.settings import Settings
from tests.recorded import immutable

Resource = dict[str, Any]

_TIME = "2026-01-01T00:00:00Z"
_SIGNATURE = "4dabf18193072939515e22adb298388d"  # marks Pulumi's own kinds of value, such as a secret
_PROVIDER = "pulumi:providers:"
_INTERNAL = "__internal"  # the engine's own notes on a provider


def text(deployment: Mapping[str, Any]) -> str:
    """The recording of an exported state."""
    # The engine writes resources in the order in which they finish. It reads any order that begins with providers.
    resources = sorted(deployment["resources"], key=lambda one: (_PROVIDER not in one["type"], one["urn"]))
    lines = (json.dumps(_compact(one), sort_keys=True, separators=(",", ":")) for one in resources)
    return "\n".join(["[", ",\n".join(lines), "]", ""])


def deployment(recorded: str, project: str, stack: str) -> dict[str, Any]:
    """The state of a recording, as `pulumi stack import` takes it."""
    resources = list(_whole(json.loads(recorded), f"urn:pulumi:{stack}::{project}::"))
    return {
        "version": 3,
        "deployment": {"manifest": {"time": _TIME, "magic": "", "version": ""}, "resources": resources},
    }


def _compact(found: Mapping[str, Any]) -> Resource:
    """Drops what no preview compares: times, dependencies, parents, protection, inputs and outputs of components."""
    kept: Resource = {"urn": found["urn"].split("::", 2)[2]}
    if not found.get("custom"):
        return kept | _runs(found)
    inputs, outputs = _plain(found.get("inputs", {})), _plain(found.get("outputs", {}))
    kept["inputs"] = _deciding(found["urn"], {key: value for key, value in inputs.items() if key != _INTERNAL})
    if added := {key: value for key, value in outputs.items() if inputs.get(key) != value}:
        kept["added"] = added
    if provider := found.get("provider"):
        kept["provider"] = provider.split("::")[-2]
    return kept


def _runs(found: Mapping[str, Any]) -> Resource:
    """What the program reads of the stack's own outputs: the runs of its jobs."""
    outputs = _plain(found.get("outputs", {})).get("workloads", {}) if found["type"] == "pulumi:pulumi:Stack" else {}
    of_runs = {name: {key: one[key] for key in ("jobSet", "run") if key in one} for name, one in outputs.items()}
    runs = {name: one for name, one in sorted(of_runs.items()) if one}
    return {"outputs": {"workloads": runs}} if runs else {}


def _plain(value: Any) -> Any:
    """A copy without secret marks: importing secrets would require the key of the stack that they come from."""
    if isinstance(value, dict):
        if "plaintext" in value and _SIGNATURE in value:
            return json.loads(value["plaintext"])
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _deciding(urn: str, inputs: Resource) -> Resource:
    """The inputs that identify or may replace the object: selected fields of Kubernetes' built-in kinds, else all."""
    token = kinds.token(urn)
    if not token.startswith("kubernetes:") or token == kinds.HELM_RELEASE or token in immutable.WHOLE:
        return inputs
    identity = {key: inputs["metadata"][key] for key in ("name", "namespace") if key in inputs["metadata"]}
    if not kinds.is_built_in(GVK.of(inputs)):
        return {**{key: inputs[key] for key in inputs if key not in ("apiVersion", "kind")}, "metadata": identity}
    deciding: Resource = {"metadata": identity}
    for path in [*force_new.fields(inputs, Settings()), *immutable.paths(token)]:
        _copy(inputs, deciding, path)
    return deciding


def _copy(source: Any, target: Resource, path: force_new.Path) -> None:
    *outer, last = map(str, path)
    for key in outer:
        if key not in source:
            return
        source, target = source[key], target.setdefault(key, {})
    if last in source:
        target[last] = source[last]


def _whole(resources: list[Resource], prefix: str) -> Iterator[Resource]:
    providers: dict[tuple[str, str], str] = {}
    for one in resources:
        urn, token, name = prefix + one["urn"], kinds.token(prefix + one["urn"]), kinds.name(prefix + one["urn"])
        made = {"urn": urn, "type": token, "custom": "inputs" in one, "created": _TIME, "modified": _TIME}
        if "inputs" in one:
            made |= {"id": f"{name}-id", "inputs": one["inputs"], "outputs": one["inputs"] | one.get("added", {})}
        if "outputs" in one:
            made["outputs"] = one["outputs"]
        if "provider" in one:
            made["provider"] = providers[token.split(":")[0], one["provider"]]
        if token.startswith(_PROVIDER):
            providers[token.split(":")[2], name] = f"{urn}::{name}-id"
        yield made
