"""A renamed setting: accepted under its former name with a warning, then refused with the present one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane import stack
from tensorplane.cli.commands.check import command
from tensorplane.components.base import retired
from tensorplane.components.base.retired import Retired
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.stack import checks
from tensorplane.version import __version__

MINOR = ".".join(__version__.split(".")[:2])
NEXT = Retired("queues.*.x", "y", MINOR).refused_by
OF_QUEUES = "queues.*.ram"


def _planted(monkeypatch: pytest.MonkeyPatch, since: str) -> None:
    monkeypatch.setattr(retired, "RETIRED", (Retired(OF_QUEUES, "memoryGib", since),))


def _tree(**queue: Any) -> dict[str, Any]:
    return {"queues": {"training": {"cpus": 2, **queue}}}


def test_the_former_name_is_accepted_with_a_warning_for_one_minor_version(monkeypatch: pytest.MonkeyPatch) -> None:
    _planted(monkeypatch, MINOR)
    resolved = stack.load(Settings(_tree(ram=6)))
    assert resolved.config.queues["training"].memory_gib == 6
    assert next(str(note) for note in checks.notes(resolved)) == (
        f"tensorplane:queues.training.ram: is called memoryGib since {MINOR}, and {NEXT} refuses this name; rename it"
    )


def test_check_and_the_update_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _planted(monkeypatch, MINOR)
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config:\n  tensorplane:queues: {training: {cpus: 2, ram: 6}}\n")
    assert command.run(file).startswith("note: tensorplane:queues.training.ram: is called memoryGib")


def test_the_next_minor_version_refuses_it_with_the_present_name(monkeypatch: pytest.MonkeyPatch) -> None:
    found = retired.rename(_tree(ram=6), [Retired(OF_QUEUES, "memoryGib", MINOR)], version=f"{NEXT}.0")
    assert [str(each) for each in found.problems] == [
        f"tensorplane:queues.training.ram: is called memoryGib since {MINOR}; rename it"
    ]
    # Alone: what is concluded from the missing setting is no problem of the user's.
    _planted(monkeypatch, "0.0")
    with pytest.raises(UserError) as refused:
        stack.load(Settings(_tree(ram=6)))
    assert str(refused.value) == "tensorplane:queues.training.ram: is called memoryGib since 0.0; rename it"


def test_a_problem_of_its_value_is_at_the_name_that_the_file_has(monkeypatch: pytest.MonkeyPatch) -> None:
    _planted(monkeypatch, MINOR)
    with pytest.raises(UserError, match=r"^tensorplane:queues\.training\.ram: invalid value -1"):
        stack.load(Settings(_tree(ram=-1)))


def test_both_names_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _planted(monkeypatch, MINOR)
    with pytest.raises(UserError) as refused:
        stack.load(Settings(_tree(ram=6, memoryGib=4)))
    assert str(refused.value) == (
        "tensorplane:queues.training.ram: is the former name of memoryGib, which is set, too; remove it"
    )


def test_an_encrypted_value_stays_encrypted_under_the_present_name(monkeypatch: pytest.MonkeyPatch) -> None:
    _planted(monkeypatch, MINOR)
    settings = Settings(_tree(ram=6), secret=frozenset({("queues", "training", "ram")})).under_present_names()
    assert settings.secret == {("queues", "training", "memoryGib")}
