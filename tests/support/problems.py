"""The faults that a stack's settings are refused with, and settings to be spoiled."""

import copy
from collections.abc import Iterable
from typing import Any

from tensorplane import stack
from tensorplane.components.base.problems import Key
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tests.support.rendering import PROJECT, settings_of

DEV = PROJECT / "Pulumi.dev.yaml"
EKS = {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}}
CPU = {"machine": "m7i.2xlarge", "min": 1, "max": 3}


def problems_of(tree: dict[str, Any], secret: frozenset[Key] = frozenset()) -> list[str]:
    """The lines that a user would read; none where the settings are accepted."""
    try:
        stack.load(Settings(tree, secret))
    except UserError as error:
        return str(error).split("\n")
    return []


def dev() -> dict[str, Any]:
    """The dev stack's settings, to be spoiled."""
    return copy.deepcopy(settings_of(DEV).tree)


def keys_of(lines: Iterable[str]) -> list[str]:
    """The settings that lines are about."""
    return sorted(line.split(": ")[0].removeprefix("tensorplane:") for line in lines)


def spoil(tree: dict[str, Any], mutant: dict[str, Any]) -> None:
    """Change, remove or rename one setting."""
    (path,) = (mutant[change] for change in ("put", "drop", "rename") if change in mutant)
    *parents, last = path.split("/")
    for key in parents:
        tree = tree.setdefault(key, {})
    if "put" in mutant:
        tree[last] = mutant["value"]
    elif "drop" in mutant:
        del tree[last]
    else:
        tree[mutant["to"]] = tree.pop(last)


def put(tree: dict[str, Any], path: str, value: Any) -> None:
    """Change one setting."""
    spoil(tree, {"put": path, "value": value})
