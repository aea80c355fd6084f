"""The project with other settings: a folder of links to it, so that no file of the checkout changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from embedded.deploy import Stack
from embedded.paths import PROJECT

_LINKED = (
    "Pulumi.yaml",
    *(path.name for path in PROJECT.glob("*.py")),
    "stack_file.py",
    "nearest.py",
    "components",
    "workloads",
    "runtime",
    "snapshotter",
    "examples",
    "policies",
    ".venv",
)


def with_settings(stack: Stack, folder: Path, settings: str) -> Stack:
    """The same stack in the same home, run from `folder` with these settings."""
    project = folder / "project"
    project.mkdir(parents=True, exist_ok=True)
    for name in _LINKED:
        link = project / name
        if not link.is_symlink():
            link.symlink_to(PROJECT / name)
    (project / f"Pulumi.{stack.settings.name}.yaml").write_text(settings)
    return replace(stack, settings=replace(stack.settings, project=project))
