"""Imports a package's names at their first use, so that a process loads only what it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def module_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The package's `__getattr__`. `homes`: each name's module in the package; a module is its own home.

    `package` is written out and not `__name__`: under the library's former name (`runtime`) both names
    give the same classes.
    """

    def imported(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return module if homes[name] == name else getattr(module, name)

    return imported
