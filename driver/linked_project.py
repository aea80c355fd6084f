"""The project with other settings: a folder of links to it, so that no file of the checkout changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from core.paths import PROJECT
from driver.deploy import Stack


def with_settings(stack: Stack, folder: Path, settings: str) -> Stack:
    """The same stack in the same home, run from `folder` with these settings."""
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    for entry in PROJECT.iterdir():
        link = project / entry.name
        # Hidden entries are caches and version control; the environment alone is part of the project.
        is_other = entry.match("Pulumi.*.yaml") or (entry.name.startswith(".") and entry.name != ".venv")
        if not (link.is_symlink() or is_other):
            link.symlink_to(entry)
    (project / f"Pulumi.{stack.settings.name}.yaml").write_text(settings)
    return replace(stack, settings=replace(stack.settings, project=project))
