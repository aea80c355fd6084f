"""One module per domain, each with its `POLICIES`. They import nothing from the stack: they read what it registers."""

import importlib
import pkgutil
from collections.abc import Iterable

from pulumi_policy import Policy


def found(package: str = __name__, path: Iterable[str] = __path__) -> list[Policy]:
    """The policies of every module in this folder, in order of module names: a new rule is a new file."""
    names = sorted(module.name for module in pkgutil.iter_modules(path))
    return [policy for name in names for policy in importlib.import_module(f"{package}.{name}").POLICIES]
