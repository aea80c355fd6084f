"""`pulumi` and its SDK for Kubernetes, imported at their first use: commands for members of teams work without them.

Modules that settings or checks import take them from here. A module with a component, which is a subclass of
`pulumi.ComponentResource`, imports `pulumi` itself, and is imported where the component is created.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pulumi as pulumi
    import pulumi_kubernetes as k8s
else:

    class _AtFirstUse:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(import_module(self._name), attribute)

    pulumi, k8s = _AtFirstUse("pulumi"), _AtFirstUse("pulumi_kubernetes")

__all__ = ["k8s", "pulumi"]
