"""Imports go one way between the top-level parts, and nowhere in a circle."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.structure import imports, sources

PROJECT = Path(__file__).resolve().parents[3]

_STACK = {"components", "stack", "stack_file", "workloads"}
_MACHINE = {"images", "plugins", "toolchain"}
MAY_IMPORT: Mapping[str, set[str]] = {
    "__main__": {"stack"},
    "agents": set(),
    "cli": {*_STACK, *_MACHINE, "agents", "core", "driver", "embedded"},
    "components": {"agents", "core", "stack_file"},
    "core": set(),
    "driver": {*_STACK, *_MACHINE, "core", "embedded"},
    "embedded": {"core", "images", "toolchain"},
    "images": {"core", "stack_file", "toolchain"},
    "plugins": {"core", "stack_file", "toolchain"},
    "policies": set(),
    "pulumi": {*_STACK, "core", "runtime"},
    "runtime": set(),
    "stack": {"components", "core", "stack_file", "workloads"},
    "stack_file": {"core"},
    "toolchain": {"core"},
    "workloads": {"agents", "components", "core", "stack_file"},
}
"""The other parts that each top-level part may import."""


@pytest.fixture(scope="module")
def project() -> imports.Graph:
    return imports.graph(PROJECT)


def test_no_modules_import_each_other_in_a_circle(project: imports.Graph) -> None:
    assert imports.circles(project) == []


def test_imports_between_parts_go_one_way(project: imports.Graph) -> None:
    assert imports.against(project, MAY_IMPORT) == []


def test_parts_are_imported_from_tensorplane_alone() -> None:
    """By the name of its folder, a module would be imported a second time."""
    parts = set(MAY_IMPORT) - {"__main__", "policies", "pulumi", "runtime"}  # by that name, `pulumi` is the SDK
    found = []
    # Programs have components of their own.
    files = (path for path in sources.python_files(PROJECT) if not path.is_relative_to(PROJECT / "examples" / "python"))
    for path in files:
        for node in sources.nodes(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) and not node.level else []
            found += [f"{path.relative_to(PROJECT)}: {name}" for name in names if imports.part_of(name) in parts]
    assert found == []


def test_every_part_has_a_rule(project: imports.Graph) -> None:
    parts = {imports.part_of(module) for module in project}
    assert parts <= set(MAY_IMPORT)
    assert {"cli", "components", "stack", "workloads"} <= parts


def test_the_documentation_lists_the_allowed_imports() -> None:
    text = (PROJECT / "docs/architecture.md").read_text()
    rows = re.findall(r"^\| \[`(\w+)`\].*\| ([^|]+) \|$", text.split("## From a setting")[0], re.MULTILINE)
    documented = {part: set(re.findall(r"`(\w+)`", allowed)) for part, allowed in rows}
    assert documented == {part: allowed for part, allowed in MAY_IMPORT.items() if part != "__main__"}


def _project(folder: Path, files: Mapping[str, str]) -> imports.Graph:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return imports.graph(folder)


@pytest.mark.parametrize(
    "text",
    [
        "import components.b\n",
        "from tensorplane.components import b\n",
        "from tensorplane.components.b import Thing\n",
        "from . import b\n",
        "from .b import Thing\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tensorplane.components.b import Thing\n",
        "def late():\n    from tensorplane.components.b import Thing\n",
    ],
)
def test_a_planted_circle_is_found(tmp_path: Path, text: str) -> None:
    planted = {
        "components/__init__.py": "",
        "components/a.py": text,
        "components/b.py": "from tensorplane.components import a\n",
    }
    assert imports.circles(_project(tmp_path, planted)) == [["components.a", "components.b"]]


def test_a_planted_circle_through_a_package_and_an_environment_of_its_own_is_found(tmp_path: Path) -> None:
    planted = {
        "components/__init__.py": "from tensorplane.components.inner.deep import Thing\n",
        "components/inner/__init__.py": "",
        "components/inner/deep.py": "from tensorplane.components import Other\n",
        "policies/usage.py": "from rules import one\n",
        "policies/rules/one.py": "import usage\n",
    }
    assert imports.circles(_project(tmp_path, planted)) == [
        ["components", "components.inner.deep"],
        ["policies.rules.one", "policies.usage"],
    ]


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("components/a.py", "from tensorplane.workloads import b\n", "components.a imports workloads.b"),
        ("policies/rules/a.py", "import workloads.b\n", "policies.rules.a imports workloads.b"),
        ("embedded/a.py", "def late():\n    import workloads.b\n", "embedded.a imports workloads.b"),
        ("newcomer/a.py", "from tensorplane.workloads.b import Thing\n", "newcomer.a imports workloads.b"),
    ],
)
def test_a_planted_import_against_the_direction_is_found(tmp_path: Path, file: str, text: str, found: str) -> None:
    assert imports.against(_project(tmp_path, {file: text, "workloads/b.py": ""}), MAY_IMPORT) == [found]
