"""What `make up` runs before anything is installed: it needs only core/requirements.txt."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata

from tensorplane.core.paths import PROJECT

# Every module that runs in the bootstrapped environment; what runs inside images and in users' programs does not.
_IMPORT_ALL = """
import importlib, json, pkgutil, sys
from tensorplane import core, driver, embedded, images, plugins, toolchain

packages = (core, driver, embedded, images, plugins, toolchain)
elsewhere = tuple(f"tensorplane.{name}." for name in ("images.serving", "plugins.hosts.inside", "toolchain.go"))
for package in packages:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(elsewhere):
            importlib.import_module(module.name)
print(json.dumps(sorted({name.split(".")[0] for name in sys.modules})))
"""


_IF_INSTALLED = {"regex"}
"""Pygments imports it where something else has installed it."""


def _closure(names: set[str]) -> set[str]:
    """The distributions with all that they require, as this environment has them."""
    found: set[str] = set()
    waiting = {_normal(name) for name in names}
    while waiting:
        name = waiting.pop()
        found.add(name)
        required = metadata.requires(name) or []
        plain = {_normal(re.split(r"[^\w.-]", line)[0]) for line in required if "extra ==" not in line}
        waiting |= {need for need in plain - found if _is_here(need)}
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_here(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:  # for another platform or Python
        return False
    return True


def test_a_bootstrapped_environment_can_import_all_that_make_up_runs() -> None:
    lines = (PROJECT / "core" / "requirements.txt").read_text().splitlines()
    allowed = _closure({line.split("==")[0] for line in lines if "==" in line}) | {"pip", "setuptools", *_IF_INSTALLED}
    done = subprocess.run([sys.executable, "-c", _IMPORT_ALL], cwd=PROJECT, capture_output=True, text=True, check=True)
    owners = metadata.packages_distributions()
    used = {_normal(owner) for name in json.loads(done.stdout) for owner in owners.get(name, [])[:1]}
    assert "pulumi" in used
    assert used <= allowed, f"not in core/requirements.txt: {sorted(used - allowed)}"
