"""One module per domain, each with its `POLICIES`. They import nothing from the stack: they read what it registers."""

import importlib
import pkgutil
from collections.abc import Iterable

from stack_view.rule import Rule


def found(package: str = __name__, path: Iterable[str] = __path__) -> list[Rule]:
    """The policies of every module in this folder, in order of module names: a new rule is a new file."""
    names = sorted(module.name for module in pkgutil.iter_modules(path))
    return [policy for name in names for policy in importlib.import_module(f"{package}.{name}").POLICIES]
