"""`tensorplane image lock`: packages.lock, from the `packages` of all stacks of the project."""

from __future__ import annotations

from tensorplane.core import command_lines, terminal
from tensorplane.core.paths import PROJECT
from tensorplane.core.progress import Progress
from tensorplane.core.step import Step
from tensorplane.driver import requirements
from tensorplane.driver.stack_settings import StackSettings, stack_names
from tensorplane.embedded.instance import Instance
from tensorplane.images import package_resolution
from tensorplane.stack_file import package_lock
from tensorplane.stack_file.package_lock import PackageLock


def run(*, upgrade: bool) -> None:
    """Writes the lock. Versions that are locked stay, unless `--upgrade`, or they no longer fit the training image."""
    with Progress(terminal.console()) as progress, progress.step("lock packages") as step:
        lock = locked(_requirements(), step, upgrade=upgrade)
    package_lock.write(PROJECT, lock)
    for request, lines in lock.locked_sets.items():
        print(f"{request}: {', '.join(line.split()[0] for line in lines) or 'in every TensorFlow image already'}")
    print(f"{package_lock.FILE}: {len(lock.locked_sets)} sets. Check it in, then deploy with: {command_lines.deploy()}")


def locked(wanted: list[list[str]], step: Step, *, upgrade: bool) -> PackageLock:
    """The lock for these sets of packages; sets that no job asks for are dropped."""
    old, pins = _old(), package_lock.pins()
    current = old.base_image_hash == package_lock.base_image_hash()
    sets = {}
    for packages in wanted:
        earlier = None if upgrade else old.locked(packages)
        fits = current and earlier is not None
        sets[package_lock.key_of(packages)] = (
            earlier or () if fits else package_resolution.resolve(packages, pins, step, earlier or ())
        )
    return PackageLock(package_lock.base_image_hash(), sets)


def _requirements() -> list[list[str]]:
    found: dict[str, list[str]] = {}
    for name in stack_names():
        for packages in requirements.list_package_sets(StackSettings(name, Instance.current().stacks)):
            found.setdefault(package_lock.key_of(packages), packages)
    return list(found.values())


def _old() -> PackageLock:
    try:
        return package_lock.read(PROJECT)
    except ValueError:
        return PackageLock()  # about to be written again
