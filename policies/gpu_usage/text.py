"""Manifests in texts, such as in a ConfigMap or a parameter."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from gpu_usage import accelerators

_HINTS = re.compile(
    r"containers|limits|requests|VISIBLE_DEVICES|deviceName|resourceClaims|deviceClassName|gpu-fraction"
    r"|nvidia-container-devices|cdi\.k8s\.io|io\.kubernetes\.cri-o\.Devices|devices\.(nri\.io|noderesource\.dev)"
)


@cache
def may_have_gpus(value: str) -> bool:
    """Whether a text is worth parsing. Many workloads mount the same long texts, such as tensorplane's library."""
    return _HINTS.search(value) is not None or accelerators.named_in(value)


def parse(value: str) -> list[Any] | None:
    """The maps and lists of a YAML or JSON text; None if it is invalid. Scalars stay as written.

    Composed, not loaded: merges and aliases are not expanded, so no text can exhaust memory.
    """
    import yaml  # few stacks have such texts, and the engine waits for what the pack imports at its start

    try:
        roots = list(yaml.compose_all(value, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, ValueError):
        return None
    made: dict[int, Any] = {}
    return [_plain(root, made) for root in roots if root is not None and not isinstance(root, yaml.ScalarNode)]


def _plain(node: Any, made: dict[int, Any]) -> Any:
    if id(node) in made:
        return made[id(node)]
    if node.id == "mapping":
        mapping: dict[str, Any] = {}
        made[id(node)] = mapping
        for key, inner in node.value:
            mapping[str(key.value)] = _plain(inner, made)
        return mapping
    if node.id == "sequence":
        sequence: list[Any] = []
        made[id(node)] = sequence
        sequence.extend(_plain(inner, made) for inner in node.value)
        return sequence
    return None if node.tag == "tag:yaml.org,2002:null" else node.value
