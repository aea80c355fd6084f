"""Finds the Python that a Pulumi program or policy pack runs on, and what is installed there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorplane.core.errors import UserError

_INVENTORY = """
import json, pathlib, sys
found = {}
for folder in map(pathlib.Path, sys.path):
    for file in sorted(folder.glob("*/pulumi-plugin.json")) if folder.is_dir() else ():
        found.setdefault(file.parent.name, json.loads(file.read_text()))
if not all(plugin.get("version") for plugin in found.values()):
    import importlib.metadata  # reads the file lists of all distributions, which takes longer than the rest
    for package, distributions in importlib.metadata.packages_distributions().items():
        if package in found:
            found[package]["distribution"] = importlib.metadata.version(distributions[0])
print(json.dumps(list(found.values())))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python: its program, and the folder of its virtual environment, if any."""

    python: Path
    home: Path | None

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """`base` as `activate` would change it, so that programs started by the user's code use the same Python."""
        variables = {name: value for name, value in base.items() if name != "PYTHONHOME"}
        if self.home:
            variables["VIRTUAL_ENV"] = str(self.home)
            variables["PATH"] = os.pathsep.join([str(self.home / "bin"), base.get("PATH", os.defpath)])
        return variables

    def ask(self, *arguments: str) -> str:
        """Output of a short run of this Python."""
        result = subprocess.run([self.python, *arguments], capture_output=True, text=True, check=False)
        if result.returncode:
            last = (result.stderr.strip().splitlines() or ["no output"])[-1]
            raise UserError(f"{self.python} {' '.join(arguments[:2])}: {last}")
        return result.stdout

    def version(self) -> str:
        return self.ask("-I", "-c", "import platform; print(platform.python_version())").strip()

    def packages(self, *, transitive: bool) -> list[dict[str, str]]:
        """Installed distributions, as pip lists them; without `transitive` only those that no other one requires."""
        only = [] if transitive else ["--not-required"]
        listing: list[dict[str, str]] = json.loads(
            self.ask("-m", "pip", "--disable-pip-version-check", "list", "--format", "json", *only)
        )
        return listing

    def plugins(self) -> list[dict[str, Any]]:
        """The resource plugin of each installed Pulumi SDK: `name`, `version`, `server`."""
        found: list[dict[str, Any]] = json.loads(self.ask("-I", "-c", _INVENTORY))
        return [
            {**plugin, "version": plugin.get("version") or plugin.get("distribution", "")}
            for plugin in found
            if plugin.get("resource") and plugin.get("name")
        ]


def interpreter(root: Path, options: Mapping[str, Any], *, file: str = "Pulumi.yaml") -> Interpreter:
    """The Python that `runtime.options` of the project in `root` selects; `file`: the file with these options."""
    toolchain = options.get("toolchain", "pip")
    if toolchain != "pip":
        raise UserError(
            f"{root / file}: runtime.options.toolchain: {toolchain} is not supported; set runtime.options.virtualenv "
            "to the folder of a virtual environment made with pip or venv"
        )
    name = options.get("virtualenv")
    if not name:
        return _ambient()
    home = root / str(name)
    python = home / "bin" / "python"
    if not os.access(python, os.X_OK):
        raise UserError(
            f"{root / file}: runtime.options.virtualenv: {home} is not a virtual environment; create it with: "
            f"python3 -m venv {home} && {python} -m pip install -r {root / 'requirements.txt'}"
        )
    return Interpreter(python, home)


def installation(root: Path, options: Mapping[str, Any]) -> list[tuple[Interpreter, list[str]]]:
    """The commands, in order, that create the project's environment and install its requirements."""
    name = options.get("virtualenv")
    home = root / str(name) if name else None
    python = Interpreter(home / "bin" / "python", home) if home else _ambient()
    steps = []
    if home and not python.python.exists():
        steps.append((_ambient(), ["-m", "venv", str(home)]))
    if (root / "requirements.txt").exists():
        steps.append((python, ["-m", "pip", "install", "--disable-pip-version-check", "-r", "requirements.txt"]))
    return steps


def _ambient() -> Interpreter:
    found = shutil.which("python3") or shutil.which("python")
    if not found:
        raise UserError("no python3 on PATH; install Python, or set runtime.options.virtualenv in Pulumi.yaml")
    active = os.environ.get("VIRTUAL_ENV")
    return Interpreter(Path(found), Path(active) if active else None)
