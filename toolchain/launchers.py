"""Writes the launchers by which the Pulumi CLI finds our hosts, unless Pulumi's own are available."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import subprocess
import sys
from pathlib import Path

from tensorplane.core import whole_file
from tensorplane.core.paths import PACKAGE
from tensorplane.toolchain import pulumi_plugins

_LANGUAGE = "pulumi-language-python"
_KUBERNETES = "pulumi-resource-kubernetes"
_MODULES = {_LANGUAGE: "tensorplane.plugins.hosts.serve", _KUBERNETES: "tensorplane.plugins.kubernetes"}
_DOWNLOAD_SECONDS = 60


def install(bin_dir: Path, *, pulumi: Path | None) -> list[str]:
    """Writes a launcher into `bin_dir` for each missing host; removes ours if Pulumi's own is installed now.

    `pulumi`: the CLI that will run; None if there is none yet. Returns the names of the existing launchers. The first
    call tries to get the Kubernetes plugin from Pulumi's servers before it installs ours.
    """
    official = {
        _LANGUAGE: bool(pulumi_plugins.next_to(pulumi, _LANGUAGE) or pulumi_plugins.on_path(_LANGUAGE)),
        _KUBERNETES: bool(pulumi_plugins.on_path(_KUBERNETES) or pulumi_plugins.cached("resource", "kubernetes")),
    }
    placed = []
    for name, module in _MODULES.items():
        launcher = bin_dir / name
        if not official[name] and name == _KUBERNETES and not launcher.exists():
            official[name] = _download(pulumi)
        if official[name]:
            if pulumi_plugins.is_ours(launcher):
                launcher.unlink()
        elif not launcher.exists() or pulumi_plugins.is_ours(launcher):
            note = "`tensorplane up` writes it, and removes it when Pulumi's own plugin is there"
            write(launcher, module, note=note)
            placed.append(name)
    return placed


def are_installed(bin_dir: Path, *, pulumi: Path) -> bool:
    """Whether the CLI finds a language host for Python: Pulumi's own, or ours in `bin_dir`."""
    official = pulumi_plugins.next_to(pulumi, _LANGUAGE) or pulumi_plugins.on_path(_LANGUAGE)
    return bool(official) or (bin_dir / _LANGUAGE).exists()


def install_command(bin_dir: Path) -> None:
    """Writes `tensorplane`, the command of cli/, into `bin_dir`."""
    write(bin_dir / "tensorplane", "tensorplane.cli", note="`tensorplane up` writes it")


def link_kubectl(bin_dir: Path, built: Path) -> None:
    """Links the cluster's kubectl into `bin_dir`, if it is built and the machine has none of its own."""
    link = bin_dir / "kubectl"
    if pulumi_plugins.on_path("kubectl", but_not_in=bin_dir) or not built.exists():
        if link.is_symlink():
            link.unlink()
    elif link.is_symlink() or not link.exists():
        whole_file.link(link, built)


def write(launcher: Path, module: str, *arguments: str, note: str) -> None:
    """Writes a launcher of one of this project's modules; `arguments` precede those of its caller."""
    whole_file.write(launcher, _script(module, arguments, note), mode=0o755)


def argv(module: str, *arguments: str) -> list[str]:
    """What runs one of this project's modules, in any folder."""
    # tensorplane is only on this process's path: a PYTHONPATH would also affect the user's program and policy packs.
    # `-P` keeps the CLI's working directory from shadowing modules.
    path = f"import runpy, sys; sys.path.insert(0, {str(PACKAGE.parent)!r})"
    code = f"{path}; runpy.run_module({module!r}, {{}}, '__main__', True)"
    return [sys.executable, "-P", "-c", code, *arguments]


def _script(module: str, arguments: tuple[str, ...], note: str) -> str:
    start = shlex.join(argv(module, *arguments))
    return f'#!/bin/sh\n{pulumi_plugins.LAUNCHER_MARK}: {note}\nexec {start} "$@"\n'


def _download(cli: Path | None) -> bool:
    """Whether Pulumi's own Kubernetes plugin can be downloaded in the SDK's version."""
    if not cli:
        return False
    wanted = ["resource", "kubernetes", importlib.metadata.version("pulumi-kubernetes")]
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "1"}
    try:
        subprocess.run(
            [cli, "plugin", "install", *wanted, "--non-interactive"],
            env=environment,
            timeout=_DOWNLOAD_SECONDS,
            capture_output=True,
            check=True,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return False
    return bool(pulumi_plugins.cached("resource", "kubernetes"))
