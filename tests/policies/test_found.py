"""A rule is in the pack by being there: no list names it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.policies.conftest import PACK

_NAMES = "import rules; print(*(one.name for one in rules.found({arguments})))"
_RULE = """
from stack_view.rule import Rule, Severity

POLICIES = [
    Rule(lambda view, config: (), name="planted", description="A rule.", remedy="", severity=Severity.LOW, tags=[])
]
"""


def found(folder: Path, arguments: str = "") -> str:
    shown = subprocess.run(
        [sys.executable, "-c", _NAMES.format(arguments=arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACK), str(folder)])},
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout.strip()


def test_a_new_rule_is_a_new_file(tmp_path: Path) -> None:
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "wide.py").write_text(_RULE)
    assert "gpu-quota" in found(tmp_path).split()
    assert found(tmp_path, f"'planted', [{str(folder)!r}]") == "planted"


def test_a_module_of_rules_without_policies_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "empty.py").touch()
    with pytest.raises(subprocess.CalledProcessError):
        found(tmp_path, f"'planted', [{str(folder)!r}]")
