"""mypy reads the services of the clouds' SDKs that the project uses, and no others."""

from __future__ import annotations

import ast
import importlib.util
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tensorplane.core.paths import PROJECT
from tests.unit.structure import sources

SDKS = ("pulumi_aws", "pulumi_azure_native", "pulumi_gcp")


def _services() -> set[str]:
    overrides = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    (followed,) = (each["module"] for each in overrides if each.get("follow_imports") == "normal")
    return {name.removesuffix(".*") for name in followed if name.endswith(".*")}


def _used(path: Path) -> Iterator[str]:
    """Services that a module names: `from SDK import service`, and `alias.service` after `import SDK as alias`."""
    aliases: dict[str, str] = {}
    if not any(sdk in path.read_text() for sdk in SDKS):
        return
    for node in sources.nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module in SDKS:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in SDKS}
    for node in sources.nodes(path) if aliases else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield f"{aliases[node.value.id]}.{node.attr}"


def _is_service(name: str) -> bool:
    package, _, service = name.partition(".")
    found = importlib.util.find_spec(package)
    return bool(
        found and found.submodule_search_locations and Path(found.submodule_search_locations[0], service).is_dir()
    )


def test_the_services_that_the_project_uses_are_listed() -> None:
    used = {name for path in sources.python_files(PROJECT) for name in _used(path)}
    assert {name for name in used if _is_service(name)} == _services()
