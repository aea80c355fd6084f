"""Reading the stack's settings: the whole `tensorplane:` tree, every fault collected before anything is built."""

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pulumi.runtime import config as pulumi_config
from pydantic import ValidationError

from components import faults, mending
from components.faults import Fault, Key
from components.model import Model

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Settings:
    """What the stack's file says under one project's name, unchecked."""

    tree: dict[str, Any]
    secret: frozenset[str] = frozenset()
    """Top-level keys that are stored encrypted: their values are never shown."""

    @classmethod
    def of_stack(cls, project: str = "tensorplane") -> "Settings":
        """The settings of the running stack."""
        # The SDK has no public way to list the keys, and a key that nobody asks for is a typing mistake to report.
        stored = {**pulumi_config.get_config_env(), **pulumi_config.CONFIG.get()}
        keys = sorted(key.split(":", 1)[1] for key in stored if key.startswith(f"{project}:"))
        secret = frozenset(key for key in keys if pulumi_config.is_config_secret(f"{project}:{key}"))
        return cls({key: _parsed(stored[f"{project}:{key}"]) for key in keys}, secret)


def _parsed(stored: str) -> Any:
    try:
        value = json.loads(stored)
    except ValueError:
        return stored
    return value if isinstance(value, dict | list) else stored


def validated(model: type[M], settings: Settings) -> tuple[M, list[Fault]]:
    """The settings as a model, and every fault in their shape.

    Where there are faults, the model holds what is left without the faulty parts, or with them as they were meant where
    that is clear, so that its other parts can be checked in the same run; it must not be built. What is wrong with a
    part because something was taken out of it is no fault of its own.
    """
    tree = copy.deepcopy(settings.tree)
    found: dict[Key, Fault] = {}
    changed: set[Key] = set()
    while True:
        try:
            return model.model_validate(tree, by_alias=True, by_name=False), list(found.values())
        except ValidationError as error:
            for fault in faults.of_validation(error, model, settings.secret, tree):
                if not _is_of_change(fault, changed):
                    found.setdefault(fault.path, fault)
            for detail in error.errors(include_url=False):
                place = faults.Place.of(model, detail["loc"], tree)
                changed |= {place.path, mending.mend(tree, place, detail) or _remove(tree, place.path)}


def _is_of_change(fault: Fault, changed: Iterable[Key]) -> bool:
    """Whether it is what was changed that is at fault, or a part without it, or the settings of a guessed kind."""
    guessed = (*fault.among, "kind")
    return any(path[: len(fault.path)] == fault.path or path == guessed for path in changed)


def _remove(tree: dict[str, Any], path: Key) -> Key:
    """Take the faulty value out of the tree, or, where it is missing, the smallest part around it that exists."""
    node: Any = tree
    parents: list[Any] = []
    for key in path:
        if not isinstance(node, Mapping) or key not in node:
            break
        parents.append(node)
        node = node[key]
    if parents:
        del parents[-1][path[len(parents) - 1]]
    return path[: len(parents)]
