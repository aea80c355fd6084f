"""The packages of a job, as they are locked in the project."""

from collections.abc import Sequence

from stack_file import package_lock
from workloads.pods.sources import PROJECT


def locked(packages: Sequence[str]) -> tuple[str, ...]:
    """The locked lines of these packages, with hashes; empty for packages that are not locked."""
    return package_lock.read(PROJECT).locked(packages) or () if packages else ()


def image(base: str, packages: Sequence[str]) -> str:
    """The image that adds the locked packages to `base`, the project's own training image.

    `base` itself for packages that are not locked: the checks refuse them.
    """
    return package_lock.image(base, package_lock.added(locked(packages), PROJECT))
