"""The stacks of this project, deployed and previewed by the real engine on providers that this process serves."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorplane.core.paths import PROJECT
from tests.hosts.engine import Engine
from tests.recorded import provider

FILES = {
    file.stem.removeprefix("Pulumi."): file
    for file in sorted([*PROJECT.glob("Pulumi.*.yaml"), *(PROJECT / "examples").glob("*.yaml")])
}
"""The settings of each stack, by its name: the project's own, and the examples."""
NAME = "tensorplane"
INSTANCE_HOME = "/instance-home"

Step = Mapping[str, Any]
"""What the engine would do to one resource, as `pulumi preview --json` tells it."""


@dataclass(frozen=True)
class Stacks:
    """A project in a folder of its own, with a state of its own."""

    folder: Path
    environment: Mapping[str, str]

    def add(self, stack: str, settings: Path | None = None) -> None:
        """Makes an empty stack with these settings."""
        if settings:
            # A copy: Pulumi writes the passphrase's salt into it.
            shutil.copyfile(settings, self.folder / f"Pulumi.{stack}.yaml")
        self.run("stack", "init", stack, "--no-select")

    def deploy(self, stack: str) -> dict[str, Any]:
        """The state after an update, secrets in plain text."""
        self.run("up", "--yes", "--skip-preview", "--stack", stack)
        exported: dict[str, Any] = json.loads(self.run("stack", "export", "--show-secrets", "--stack", stack))
        return dict(exported["deployment"])

    def restore(self, stack: str, state: Mapping[str, Any]) -> None:
        """Gives the stack a state."""
        file = self.folder / f"{stack}.json"
        file.write_text(json.dumps(state))
        self.run("stack", "import", "--file", str(file), "--stack", stack)

    def preview(self, stack: str) -> list[Step]:
        """What an update would do, resource by resource."""
        return list(json.loads(self.run("preview", "--json", "--show-sames", "--stack", stack))["steps"])

    def run(self, *arguments: str) -> str:
        """Output of one command of the CLI, which must succeed."""
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive", "--color=never"],
            cwd=self.folder,
            env=dict(self.environment),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"pulumi {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done.stdout


@contextmanager
def opened(root: Path, program: Path | None = None, servicer: provider.Servicer | None = None) -> Iterator[Stacks]:
    """This project, or with another program or providers, in the empty folder `root` while the context lasts."""
    engine = Engine.at(root)
    folder, state = root / "project", root / "state"
    folder.mkdir()
    state.mkdir()
    for entry in PROJECT.iterdir():
        is_settings = entry.match("Pulumi.*.yaml")
        if not is_settings and (not entry.name.startswith(".") or entry.name == ".venv"):
            (folder / entry.name).symlink_to(entry)
    if program:
        (folder / "__main__.py").unlink()
        (folder / "__main__.py").symlink_to(program)
    with provider.serving(servicer) as served:
        more = {"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true", "TENSORPLANE_HOME": INSTANCE_HOME}
        yield Stacks(folder, engine.environment(state, **served, **more))
