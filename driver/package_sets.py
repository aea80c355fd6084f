"""The packages that the jobs of a stack add to the training image, from the stack's file, unchecked."""

from __future__ import annotations

from driver.stack_settings import StackSettings
from stack_file import package_lock


def asked(settings: StackSettings) -> list[list[str]]:
    """Each job's `packages`, without repetitions. The stack's program checks them."""
    found: dict[str, list[str]] = {}
    for workload in settings.section("workloads").values():
        packages = workload.get("packages") if isinstance(workload, dict) else None
        if packages and isinstance(packages, list) and all(isinstance(package, str) for package in packages):
            found.setdefault(package_lock.asked(packages), packages)
    return list(found.values())


def locked(settings: StackSettings) -> list[tuple[str, ...]]:
    """What the locked sets among them add to the training image; the check of the settings names the others."""
    try:
        lock = package_lock.read(settings.project)
    except ValueError:
        return []
    sets = [package_lock.added(lock.locked(packages) or (), settings.project) for packages in asked(settings)]
    return list(dict.fromkeys(lines for lines in sets if lines))
