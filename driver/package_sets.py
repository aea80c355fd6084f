"""The packages that the jobs of a stack add to the training image, from the stack's file, unchecked."""

from __future__ import annotations

from core.paths import PROJECT
from driver.stack_settings import StackSettings
from stack_file import package_lock, sweep_packages


def asked(settings: StackSettings) -> list[list[str]]:
    """Each job's `packages`, without repetitions. The stack's program checks them."""
    found: dict[str, list[str]] = {}
    for workload in settings.section("workloads").values():
        job = workload.get("trial") if sweep_packages.is_sweep(workload) else workload
        packages = job.get("packages") if isinstance(job, dict) else None
        if packages and isinstance(packages, list) and all(isinstance(package, str) for package in packages):
            found.setdefault(package_lock.asked(packages), packages)
    return list(found.values())


def of_controllers(settings: StackSettings) -> list[tuple[str, ...]]:
    """What the controllers of sweeps add: those of the stack's own, and of those that members of its teams submit."""
    sweeps = any(map(sweep_packages.is_sweep, settings.section("workloads").values()))
    members = any(isinstance(team, dict) and team.get("members") for team in settings.section("teams").values())
    return [sweep_packages.lines(PROJECT)] if sweeps or members else []


def locked(settings: StackSettings) -> list[tuple[str, ...]]:
    """What the locked sets among them add to the training image, and what the controllers of sweeps add; the check of
    the settings names sets that are not locked."""
    needed = of_controllers(settings)
    try:
        lock = package_lock.read(settings.project)
    except ValueError:
        return needed
    sets = [package_lock.added(lock.locked(packages) or (), settings.project) for packages in asked(settings)]
    return list(dict.fromkeys([*needed, *(lines for lines in sets if lines)]))
