"""The messages of the engine's protocol without the SDK around them, whose import is most of a host's start."""

from __future__ import annotations

import importlib.util
import sys

_PACKAGES = ("pulumi", "pulumi.runtime")
"""Packages that import all of the SDK, and contain the package of the messages."""


def without_sdk() -> None:
    """Makes the import of `pulumi.runtime.proto` import nothing else of the SDK.

    Only for a process that uses nothing else of it, and before its first import of it.
    """
    for name in _PACKAGES:
        if name not in sys.modules and (spec := importlib.util.find_spec(name)):
            # Not executed: it only says where its modules are.
            sys.modules[name] = importlib.util.module_from_spec(spec)
