"""`make up` and `make preview` mention the policies' environment only where they create it."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded.hosts import policy_environment
from embedded.step import Step


def test_an_environment_is_created_once_for_its_requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []

    def command(argv: list[object], *, step: Step) -> None:
        ran.append(argv)
        (tmp_path / ".venv").mkdir(exist_ok=True)

    monkeypatch.setattr(policy_environment, "command", command)
    requirements = tmp_path / "requirements.txt"
    for count, pins in ((2, "pulumi-policy==1\n"), (4, "pulumi-policy==2\n")):
        requirements.write_text(pins)
        (task,) = policy_environment.tasks(tmp_path)
        task.run(Step(task.name))
        assert policy_environment.tasks(tmp_path) == []
        policy_environment.make(Step("again"), tmp_path)
        assert len(ran) == count
