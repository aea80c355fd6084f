"""Compares a resource's inputs with those of the last update."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorplane.plugins.kubernetes import paths
from tensorplane.plugins.kubernetes.values import Properties, Unknown, plain

_DEFAULTS = "__defaults"


def changes(olds: Properties, news: Properties) -> dict[str, str]:
    """Property path -> ADD, DELETE or UPDATE. The SDK does not tell which changes replace the resource."""
    return {paths.render(path): kind for path, kind in _differences(plain(olds), plain(news), ())}


def with_defaults(news: Any, olds: Any) -> Any:
    """The inputs with the defaults of the real provider, such as generated names, so that these do not show as changes.

    Bridged Terraform providers list those names under `__defaults` in each object of their inputs.
    """
    if isinstance(news, dict) and isinstance(olds, dict):
        merged = {name: with_defaults(value, olds.get(name)) for name, value in news.items()}
        for name in plain(olds.get(_DEFAULTS)) or ():
            if isinstance(name, str) and name in olds:
                merged.setdefault(name, olds[name])
        return merged
    if isinstance(news, list) and isinstance(olds, list) and len(news) == len(olds):
        return [with_defaults(new, old) for new, old in zip(news, olds, strict=True)]
    return news


def _differences(old: Any, new: Any, path: paths.Path) -> Iterator[tuple[paths.Path, str]]:
    if isinstance(new, Unknown):
        yield path, "UPDATE" if old is not None else "ADD"
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if not key.startswith("__"):
                yield from _differences(old.get(key), new.get(key), (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before, after = (values[index] if index < len(values) else None for values in (old, new))
            yield from _differences(before, after, (*path, index))
    elif old != new:
        yield path, "ADD" if old is None else "DELETE" if new is None else "UPDATE"
