"""A project with a platform and with stacks of workloads on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tensorplane import stack, stack_file
from tensorplane.components.base import stack_name
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.stack.resolved import ResolvedStack

JOB: dict[str, Any] = {
    "kind": "trainingJob",
    "strategy": {"kind": "single"},
    "command": ["python3", "-c", "print(1)"],
    "volumes": {"models": "/models"},
    "checkpoints": {"volume": "models"},
    "queue": "training",
    "resources": {"cpus": 0.4, "memoryGib": 1},
}
SERVER = {"kind": "modelServer", "model": {"volume": "models", "path": "digits"}}
PLATFORM: dict[str, Any] = {
    "volumes": {"models": {"sizeGib": 2}},
    "queues": {"training": {"cpus": 1, "memoryGib": 3}},
    "teams": {"vision": {"volumes": {"models": "readWrite"}}},
    "workloads": {"digits-server": SERVER, "digits": JOB},
}
OWN: dict[str, Any] = {"platform": "dev", "workloads": {"search": JOB}}


class Project:
    """A folder with the files of several stacks; the running one is `vision`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.write("dev", PLATFORM)
        self.write("vision", OWN)

    def write(self, name: str, tree: dict[str, Any]) -> None:
        config = {f"tensorplane:{key}": value for key, value in tree.items()}
        (self.folder / f"Pulumi.{name}.yaml").write_text(json.dumps({"config": config}))

    def load(self, name: str = "vision", project: Path | None = None) -> ResolvedStack:
        stack_name.configure(name)
        return stack.load(Settings.of_file(stack_file.read(self.folder / f"Pulumi.{name}.yaml")), project)

    def problems(self, name: str = "vision") -> list[str]:
        try:
            self.load(name)
        except UserError as error:
            return [line.removeprefix("tensorplane:") for line in str(error).splitlines()]
        return []

    def problems_of(self, **own: Any) -> list[str]:
        """The problems of other settings of the workload stack."""
        self.write("vision", own)
        return self.problems()
