"""All controllers of this folder: their settings as one model, their checks, and which of them a stack installs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tensorplane.components import controllers
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.controllers.base import ControllerKind, Demand
from tensorplane.components.controllers.prometheus import PrometheusArgs

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.controllers.component import Controller


def _found() -> Iterator[ControllerKind]:
    for name in sorted(module.name for module in pkgutil.iter_modules(controllers.__path__)):
        # Beside the controllers, the folder has this module, which is still being imported, and their component.
        if name not in (__name__.rpartition(".")[2], "component"):
            module = importlib.import_module(f"{controllers.__name__}.{name}")
            if isinstance(kind := getattr(module, "CONTROLLER", None), ControllerKind):
                yield kind


CONTROLLERS = {kind.name: kind for kind in _found()}
"""The controllers, by key in the settings."""


_OTHER_SETTINGS = [kind.settings for kind in reversed(CONTROLLERS.values()) if kind.settings is not PrometheusArgs]


class ControllersArgs(PrometheusArgs, *_OTHER_SETTINGS):  # type: ignore[misc]
    """Which controllers the stack installs. A controller that the stack does not use is never installed."""


def find_problems(settings: ControllersArgs) -> Iterator[Problem]:
    """Problems of the settings of controllers."""
    for kind in CONTROLLERS.values():
        yield from kind.check(settings)


def install(
    settings: ControllersArgs, demand: Demand, *, cluster: Cluster, opts: pulumi.ResourceOptions
) -> dict[str, Controller]:
    """The controllers that the stack requires and the cluster does not have, by name."""
    from tensorplane.components.controllers.component import Controller

    return {
        name: Controller(kind.chart, kind.values(demand, settings), cluster=cluster, opts=opts)
        for name, kind in CONTROLLERS.items()
        if kind.installs(settings, demand)
    }
