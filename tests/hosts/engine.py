"""A Pulumi project in a folder of its own, driven by the real CLI over this repository's language host."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from tensorplane import toolchain
from tensorplane.toolchain import launchers
from tests.support.waiting import PATIENT_SECONDS

_VENV = Path(sys.prefix)
_SETTINGS = """\
name: tiny
runtime: {{name: python, options: {{virtualenv: {venv}}}}}
"""


@dataclass(frozen=True)
class Engine:
    """The CLI and our launchers in one folder, with nothing of the user's Pulumi."""

    programs: Path
    home: Path

    @classmethod
    def at(cls, folder: Path) -> Engine:
        """Installs the launchers into a new folder. `false` stands for a CLI that can download nothing."""
        programs = folder / "bin"
        programs.mkdir()
        (programs / "pulumi").symlink_to(toolchain.tools().path("pulumi").resolve())
        launchers.install(programs, pulumi=Path("/bin/false"))
        return cls(programs, folder)

    def environment(self, state: Path, **more: str) -> dict[str, str]:
        """What the CLI runs with, its state in a folder, without the settings of whoever runs the tests."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("PULUMI_", "TENSORPLANE_"))}
        return {
            **kept,
            "PATH": os.pathsep.join([str(self.programs), os.environ.get("PATH", os.defpath)]),
            "PULUMI_HOME": str(self.home / "pulumi-home"),
            "PULUMI_BACKEND_URL": f"file://{state}",
            "PULUMI_CONFIG_PASSPHRASE": "correct",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            **more,
        }

    def project(self, folder: Path, program: str = "", *, venv: str = str(_VENV)) -> Project:
        """A new project with a stack `dev` whose program is `program`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "Pulumi.yaml").write_text(_SETTINGS.format(venv=venv))
        state = folder.with_name(f"{folder.name}-state")
        state.mkdir()
        return Project(folder, self.environment(state)).having(program)


@dataclass(frozen=True)
class Project:
    """One project folder and the environment in which the CLI runs there."""

    folder: Path
    environment: dict[str, str]

    def having(self, program: str) -> Project:
        """The same project with another program."""
        (self.folder / "__main__.py").write_text(textwrap.dedent(program))
        return self

    def started(self) -> Project:
        """The same project with its stack `dev` made."""
        self.run("stack", "init", "dev")
        return self

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts the CLI, without waiting for it."""
        return subprocess.Popen(
            ["pulumi", *arguments, "--non-interactive", "--color=never"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str, fails: bool = False) -> str:
        """Output of one command, which must end as `fails` says."""
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=PATIENT_SECONDS)
        assert (process.returncode != 0) == fails, output
        return output
