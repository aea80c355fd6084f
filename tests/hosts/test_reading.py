"""The contract of `stack_file`: a program of the real engine gets what our reader makes of the same file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorplane import stack_file
from tensorplane.stack_file import ENCRYPTED
from tests.hosts.engine import Project
from tests.unit.stack_file.test_reading import SPELLINGS

_PROGRAM = """\
import contextlib
import json
from pathlib import Path
from pulumi.runtime import config

Path("seen.json").write_text(json.dumps({**config.get_config_env(), **config.CONFIG.get()}))
"""


def _config(project: Project) -> dict[str, Any]:
    """The configuration as a program of the engine gets it."""
    project.having(_PROGRAM).run("preview")
    stored: dict[str, str] = json.loads((project.folder / "seen.json").read_text())
    return {key: _value(text) for key, text in stored.items() if key.startswith("tensorplane:")}


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


@pytest.fixture
def file(project: Project) -> Iterator[Path]:
    """The settings of the project's stack, which are as before afterwards."""
    found = project.folder / "Pulumi.dev.yaml"
    kept = found.read_text()
    yield found
    found.write_text(kept)


def _inside(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def test_a_program_gets_what_is_read_here(project: Project, file: Path) -> None:
    plain = [spelling for spelling, value in SPELLINGS.items() if ENCRYPTED not in (value, *_inside(value))]
    nested = "".join(f"    k{index}: {spelling}\n" for index, spelling in enumerate(plain))
    alone = "".join(f"  tensorplane:k{index}: {spelling}\n" for index, spelling in enumerate(plain))
    file.write_text(f"{file.read_text()}config:\n  tensorplane:nested:\n{nested}{alone}")
    found = stack_file.read(file)
    assert not found.problems
    assert found.config == _config(project)


def test_what_the_cli_encrypts_is_known_as_encrypted(project: Project, file: Path) -> None:
    project.run("config", "set", "--path", "tensorplane:workloads.x.env.A", "5", "--stack", "dev")
    project.run("config", "set", "--secret", "--path", "tensorplane:workloads.x.env.S", "5", "--stack", "dev")
    assert stack_file.read(file).config["tensorplane:workloads"] == {"x": {"env": {"A": 5, "S": ENCRYPTED}}}
    assert _config(project)["tensorplane:workloads"] == {"x": {"env": {"A": 5, "S": "5"}}}


@pytest.mark.nightly("an engine run for each")
@pytest.mark.parametrize("config", ["{x: {a: 1, a: 2}}", "{x: .inf}", "{x: &a [*a]}", "{a: {? [b] : c}}"])
def test_what_the_engine_refuses_is_refused_here(project: Project, file: Path, config: str) -> None:
    file.write_text(f"{file.read_text()}config: {config}\n")
    project.having(_PROGRAM).run("preview", fails=True)
    with contextlib.suppress(stack_file.Unreadable):
        assert stack_file.read(file).problems
