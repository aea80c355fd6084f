"""What a stack needs on the embedded cluster: nodes, controllers, images, and packages of its jobs.

It is read from the stack's file, unchecked: the check of the settings reports what is invalid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tensorplane.driver.stack_settings import StackSettings
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tensorplane.stack_file import package_lock, sweep_packages


@dataclass(frozen=True)
class Requirements:
    """What a stack needs; each property reads the stack's file."""

    settings: StackSettings
    instance: Instance

    @property
    def nodes(self) -> int | None:
        """The number of real nodes that the settings state; None if they state none, or no number."""
        stated = str(self.settings.section("cluster").get("nodes", ""))
        return int(stated) if stated.isdecimal() else None

    @property
    def simulated_nodes(self) -> bool:
        """Whether the cluster needs KWOK: for the stack's node groups, or because it has simulated nodes already."""
        return bool(self.settings.section("nodeGroups")) or cluster.simulates_nodes(self.instance)

    @property
    def streams(self) -> bool:
        """Whether the streams' broker is needed."""
        return bool(self.settings.section("streams"))

    @property
    def controllers(self) -> set[str]:
        """Those of `go_module.CONTROLLERS` that the stack's workloads use, or that it has for other stacks'.

        Compiling one takes minutes.
        """
        declared = self.settings.section("controllers")
        workloads = [one for one in self.settings.section("workloads").values() if isinstance(one, dict)]
        by_cpu = ["cpu" in one["scaling"] for one in workloads if isinstance(one.get("scaling"), dict)]
        scales_by_other = not all(by_cpu) or declared.get("keda") == "chart"
        needs = {
            "metrics-server": any(by_cpu) or declared.get("metricsServer") == "chart",
            "keda": scales_by_other,
            "prometheus": scales_by_other and not declared.get("prometheusUrl"),
            "traefik": _installs("gateway", declared, used=any(map(_creates_gateway, workloads))),
            "argo-workflows": _installs(
                "argoWorkflows", declared, used=any(one.get("kind") == "pipeline" for one in workloads)
            ),
        }
        return {name for name, needed in needs.items() if needed}

    @property
    def packages(self) -> list[tuple[str, ...]]:
        """What locked package sets add to the training image, and what the controllers of sweeps add; the check of the
        settings names sets that are not locked."""
        needed = _of_sweeps(self.settings)
        try:
            lock = package_lock.read(self.settings.project)
        except ValueError:
            return needed
        locks = (lock.locked(packages) or () for packages in list_package_sets(self.settings))
        added = [package_lock.lines_not_in_base(locked) for locked in locks]
        return list(dict.fromkeys([*needed, *(lines for lines in added if lines)]))


def _installs(controller: str, declared: dict[str, Any], *, used: bool) -> bool:
    """Whether the stack installs the controller from its chart: if it declares it, or its workloads use it."""
    return declared.get(controller, "chart") == "chart" and (controller in declared or used)


def _creates_gateway(workload: dict[str, Any]) -> bool:
    expose = workload.get("expose")
    return bool(isinstance(expose, dict) and expose.get("create"))


def list_package_sets(settings: StackSettings) -> list[list[str]]:
    """The `packages` of each job, without repetitions."""
    found: dict[str, list[str]] = {}
    for workload in settings.section("workloads").values():
        job = workload.get("trial") if sweep_packages.is_sweep(workload) else workload
        packages = job.get("packages") if isinstance(job, dict) else None
        if packages and isinstance(packages, list) and all(isinstance(package, str) for package in packages):
            found.setdefault(package_lock.key_of(packages), packages)
    return list(found.values())


def _of_sweeps(settings: StackSettings) -> list[tuple[str, ...]]:
    """The packages of sweeps' controllers, for sweeps of the stack and for those that members of its teams submit."""
    sweeps = any(map(sweep_packages.is_sweep, settings.section("workloads").values()))
    members = any(isinstance(team, dict) and team.get("members") for team in settings.section("teams").values())
    return [sweep_packages.lines()] if sweeps or members else []
