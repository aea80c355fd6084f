"""What every controller declares: its settings, when it is installed, and its chart's values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tensorplane.components.base.model import Model
from tensorplane.components.base.problems import Problem
from tensorplane.components.queues.settings import CohortArgs, QueueArgs
from tensorplane.components.versions import Chart
from tensorplane.components.volumes.settings import VolumeArgs

Source = Literal["chart", "present"]


@dataclass(frozen=True)
class Demand:
    """What the stack declares that controllers act on."""

    queues: Mapping[str, QueueArgs]
    cohorts: Mapping[str, CohortArgs]
    volumes: Mapping[str, VolumeArgs]
    workloads: frozenset[str]
    """Names of the controllers whose objects the workloads create."""
    of_cluster: frozenset[str]
    """Names of the controllers that the kind of cluster comes with."""
    load_balancer: Mapping[str, str] | None
    """Annotations of a Service for an internal load balancer; None if the cluster has none, or if they are unknown."""
    uncounted: frozenset[str]
    """Extended resources that no queue has a quota of, such as those for the network between nodes."""


def _no_problems(_settings: Any) -> Iterator[Problem]:
    yield from ()


@dataclass(frozen=True)
class ControllerKind:
    """One controller. Its module defines one as `CONTROLLER`."""

    name: str
    """Its key in the settings, or a property of them, with the value `chart` or `present`."""
    chart: Chart
    settings: type[Model]
    """Its settings below `controllers`. Each has a default."""
    needed: Callable[[Demand], bool]
    values: Callable[[Demand, Any], dict[str, Any]]
    """Values of its chart, from the stack and the controller's settings."""
    check: Callable[[Any], Iterator[Problem]] = _no_problems
    """Problems of its settings."""

    def installs(self, settings: Any, demand: Demand) -> bool:
        """Whether the stack installs it: something requires it, and the cluster does not have it."""
        is_wanted = getattr(settings, self.name) == "chart" and self.name not in demand.of_cluster
        return is_wanted and self.needed(demand)


def image(chart: Chart) -> dict[str, str]:
    """The controller's image, in the format of most charts' values."""
    return {"repository": chart.image, "tag": chart.image_tag, "pullPolicy": "IfNotPresent"}
