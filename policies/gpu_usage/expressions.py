"""Mutations in CEL: what an expression computes, no preview shows, but a field that it sets is named in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_usage import accelerators
from gpu_usage.manifest import items, part

# A name of an extended resource, also in a JSON pointer.
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)+(?:/|~1)[\w.-]+")
_RESOURCES = re.compile(r"\b(resources|limits|requests)\b")
_RUNTIME = re.compile(r"runtimeClassName")
_OF_GPUS = re.compile(r"nvidia|gpu|habana|ascend", re.IGNORECASE)
_PODS = re.compile(r"(/|\b)(replicas|parallelism|completions|maxReplicas|maxSurge)\b(\s*:|['\"])")
_SHOWN = re.compile(
    r"resourceClaims|overhead|VISIBLE_DEVICES|nvidia-container-devices|cdi\.k8s\.io|gpu-(fraction|memory)"
)


def may_add_gpus(spec: Mapping[str, Any]) -> bool:
    """Whether a policy's mutations may give pods GPUs, or more pods to others; True if it shows none."""
    found = list(_of(spec))
    return not found or _touches(" ".join(found))


def _touches(expression: str) -> bool:
    names = (each.replace("~1", "/") for each in _NAME.findall(expression))
    touches = any(map(accelerators.is_asked, names)) or "params" in expression
    return bool(
        (touches and _RESOURCES.search(expression))
        or (_RUNTIME.search(expression) and _OF_GPUS.search(expression))
        or _PODS.search(expression)
        or _SHOWN.search(expression)
    )


def _of(spec: Mapping[str, Any]) -> Iterator[str]:
    for mutation in items(spec, "mutations", ("spec",)):
        for key in ("applyConfiguration", "jsonPatch"):
            yield str(part(mutation, key, ("spec", "mutations")).get("expression", ""))
    for variable in items(spec, "variables", ("spec",)) if spec.get("mutations") else ():
        yield str(variable.get("expression", ""))
