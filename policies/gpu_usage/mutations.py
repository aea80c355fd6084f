"""What policies of Gatekeeper and Kyverno add to the objects of others, or create: as objects that can be searched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_usage import pods_in, text
from gpu_usage.declared import Declared
from gpu_usage.manifest import UNKNOWN, Manifest, Path, UncountableError, UnseenError, dotted, items, of, part, unknown
from gpu_usage.pods_in import Search

_GATEKEEPER = frozenset(("mutations.gatekeeper.sh", kind) for kind in ("Assign", "AssignMetadata", "ModifySet"))
_KYVERNO = frozenset(("kyverno.io", kind) for kind in ("ClusterPolicy", "Policy"))
KINDS = _GATEKEEPER | _KYVERNO
# A part of Gatekeeper's `spec.containers[name:*].resources.limits."nvidia.com/gpu"`.
_STEP = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."'\[\]]+))\s*(\[[^\]]*\])?\s*(?:\.|$)""")
_SELECTOR = re.compile(r"""\[\s*["']?([\w-]+)["']?\s*:\s*["']?([^"'\]]*?)["']?\s*\]""")
# Kyverno's anchors: `(key)` and `<(key)` are conditions, `+(key)` and others set the key.
_CONDITION = re.compile(r"<?\(.*\)")
_ANCHOR = re.compile(r"[+=^X]?\((.*)\)")
# How many pods an object runs.
_NUMBERS = frozenset({"replicas", "parallelism", "completions", "maxReplicas", "maxReplicaCount", "maxSurge"})
_REMEDY = "set it in the manifests of the objects instead, whose pods are counted"


def refuse(policy: Manifest, declared: Declared) -> None:
    """Error of a policy that gives GPUs to objects of others, or changes how many pods they run."""
    changes = _of_gatekeeper if policy.type in _GATEKEEPER else _of_kyverno
    for path, change in changes(part(policy.body, "spec")):
        if _asks(change, path, declared):
            raise _gives_gpus(path)
        _refuse_runtime_and_numbers(change, path, declared)


def _asks(change: Any, path: Path, declared: Declared) -> bool:
    try:
        return any(each.gpus for each in Search(own_fields=True, declared=declared).demands(change, path))
    except UnseenError:  # of a number that is filled in for each object, so that nobody can state their sum
        return True


def copied(policy: Manifest) -> Iterator[Manifest]:
    """The kinds of the objects that a policy copies, as empty objects."""
    for _, generate in _generations(policy):
        kinds = part(generate, "cloneList").get("kinds")
        for each in kinds if isinstance(kinds, list) else ():
            version, _, kind = str(each).rpartition("/")
            yield _object({"apiVersion": version, "kind": kind}, {})
        if "clone" in generate:
            yield _object(generate, {})


def created(policy: Manifest) -> Iterator[Manifest]:
    """The objects that a policy creates, as far as they are in it."""
    for path, generate in _generations(policy):
        if "data" in generate:
            yield _object(generate, part(generate, "data", path))


def _object(generate: Mapping[str, Any], body: Mapping[str, Any]) -> Manifest:
    identity = {"apiVersion": str(generate.get("apiVersion", "v1")), "kind": str(generate.get("kind"))}
    return of(f"kubernetes:{identity['apiVersion']}:{identity['kind']}", {**body, **identity})


def _generations(policy: Manifest) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    spec = part(policy.body, "spec") if policy.type in _KYVERNO else {}
    for index, rule in enumerate(items(spec, "rules", ("spec",))):
        path = ("spec", "rules", str(index), "generate")
        generate = part(rule, "generate", path[:-1])
        for one in (generate, *items(generate, "foreach", path)):
            yield path, one


def _gives_gpus(path: Path) -> UncountableError:
    return UncountableError(f"it gives GPUs to objects at their admission (`{dotted(path)}`)", _REMEDY)


def _refuse_runtime_and_numbers(change: Any, path: Path, declared: Declared) -> None:
    inner = change.items() if isinstance(change, dict) else enumerate(change) if isinstance(change, list) else ()
    for key, value in inner:
        here = (*path, str(key))
        is_runtime = key == "runtimeClassName" and (value is UNKNOWN or declared.shows_gpus(value))
        if is_runtime or (key in _NUMBERS and value not in (0, "0")):
            raise UncountableError(f"it sets `{dotted(here)}` of objects at their admission", _REMEDY)
        _refuse_runtime_and_numbers(value, here, declared)


def _of_gatekeeper(spec: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    location, parameters = spec.get("location"), part(spec, "parameters", ("spec",))
    if parameters.get("operation") == "prune":
        return
    if not isinstance(location, str):
        raise unknown(("spec", "location"))
    assigned = part(parameters, "assign", ("spec", "parameters"))
    values = part(parameters, "values", ("spec", "parameters")).get("fromList")
    given = "{{metadata}}" if "fromMetadata" in assigned else assigned.get("value", UNKNOWN)
    yield ("spec", "location"), _located(location, values or given)


def _located(location: str, value: Any) -> Any:
    """An object with this value at a location."""
    match = _STEP.match(location)
    if not location or match is None:
        raise UncountableError(f"its location {location} cannot be read here", "write it as Gatekeeper documents it")
    rest = location[match.end() :]
    inner = _located(rest, value) if rest else value
    if match[4]:
        selector = _SELECTOR.fullmatch(match[4])
        chosen = {selector[1]: selector[2]} if selector else {}
        inner = [{**chosen, **inner} if isinstance(inner, dict) else inner]
    return {match[1] or match[2] or (match[3] or "").strip(): inner}


def _of_kyverno(spec: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    for index, rule in enumerate(items(spec, "rules", ("spec",))):
        path = ("spec", "rules", str(index), "mutate")
        mutate = part(rule, "mutate", path[:-1])
        for one in (mutate, *items(mutate, "foreach", path)):
            yield (*path, "patchStrategicMerge"), _without_anchors(one.get("patchStrategicMerge"))
            yield from _patches(one.get("patchesJson6902"), (*path, "patchesJson6902"))


def _without_anchors(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_anchors(each) for each in value]
    if not isinstance(value, dict):
        return value
    members = {key: inner for key, inner in value.items() if not _CONDITION.fullmatch(key)}
    return {_ANCHOR.sub(r"\1", key): _without_anchors(inner) for key, inner in members.items()}


def _patches(given: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Objects with what each operation of a JSON patch in a text sets."""
    if given is None:
        return
    if not isinstance(given, str):
        raise unknown(path)
    documents = text.parse(given)
    operations = [each for one in documents or () if isinstance(one, list) for each in one]
    if not operations or not all(isinstance(each, dict) for each in operations):
        if pods_in.in_text(given, path):
            raise _gives_gpus(path)
        return
    for each in operations:
        if each.get("op") not in ("remove", "test"):
            yield path, _pointed(str(each.get("path", "")).split("/")[1:], each.get("value", UNKNOWN))


def _pointed(steps: list[str], value: Any) -> Any:
    """An object with this value at a JSON pointer."""
    if not steps:
        return value
    step, inner = steps[0].replace("~1", "/").replace("~0", "~"), _pointed(steps[1:], value)
    # An index, also one that is filled in, is of a list.
    is_index = step == "-" or step.isdecimal() or (step.startswith("{{") and len(steps) > 1)
    return [inner] if is_index else {step: inner}
