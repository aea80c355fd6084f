"""Tests of a package lie in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.rendering import PROJECT
from tests.unit.structure import sources

OF_NO_PACKAGE = frozenset({"docs", "golden", "python", "structure"})
"""Folders of tests/unit about the project as a whole. `python` is what programs import from `tensorplane.pulumi`."""


def python_files(root: Path) -> Iterator[Path]:
    """The project's files by their paths from its root."""
    return (path.relative_to(root) for path in sources.python_files(root))


def misplaced_unit_tests(root: Path) -> list[str]:
    """Tests in tests/unit itself, or in a folder that is named as no package."""
    parts = {path.parent.name for top in (root, root / "components") for path in top.glob("*/*.py")}
    found = (path.relative_to("tests/unit") for path in python_files(root) if path.is_relative_to("tests/unit"))
    tests = (path for path in found if path.name.startswith("test_"))
    return sorted(str(path) for path in tests if len(path.parts) == 1 or path.parts[0] not in parts | OF_NO_PACKAGE)


def test_unit_tests_lie_in_folders_named_as_the_packages() -> None:
    assert misplaced_unit_tests(PROJECT) == []


@pytest.mark.parametrize(
    ("path", "misplaced"),
    [
        ("test_queues.py", True),
        ("newcomer/test_it.py", True),
        ("queues/test_it.py", False),
        ("cli/commands/test_it.py", False),
        ("structure/test_it.py", False),
    ],
)
def test_a_planted_test_of_no_package_is_found(tmp_path: Path, path: str, misplaced: bool) -> None:
    for name in ("components/queues/quota.py", "cli/__main__.py", f"tests/unit/{path}"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert misplaced_unit_tests(tmp_path) == ([path] if misplaced else [])
