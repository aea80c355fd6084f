"""`tensorplane check`: the faults of a stack's file, told before any engine or cluster is touched."""

from __future__ import annotations

import contextvars
from pathlib import Path

import pulumi
import pytest
import yaml

import stack
from cli import check
from embedded.fault import Fault
from embedded.paths import PROJECT
from tests.unit import rendering


def _faults(file: Path) -> list[str]:
    try:
        # The SDK keeps its configuration in the context: this one is thrown away.
        contextvars.copy_context().run(check.run, file)
    except Fault as fault:
        return list(fault.lines)
    return []


def test_the_dev_stack_has_none() -> None:
    assert _faults(PROJECT / "Pulumi.dev.yaml") == []


@pytest.mark.parametrize("prefix", ["tensorplane:", ""])
def test_every_fault_is_told_at_once(tmp_path: Path, prefix: str) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(f"config:\n  {prefix}queue: {{}}\n  {prefix}volumes: {{models: {{sizeGib: two}}}}\n")
    first, second = sorted(_faults(file))
    assert first.startswith("tensorplane:queue: ")
    assert second.startswith("tensorplane:volumes.models.sizeGib: ")


def test_encrypted_values_are_left_to_the_engine(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config:\n  tensorplane:queues: {secure: AAAA}\n")
    assert check.run(file) == "Pulumi.dev.yaml: some of it is encrypted, which only `make preview` can check"


def _prod_with(tmp_path: Path, **more: object) -> Path:
    settings = yaml.safe_load((PROJECT / "Pulumi.prod.yaml").read_text())
    server = {"kind": "modelServer", "model": {"volume": "models", "path": "digits"}}
    settings["config"] |= {
        "tensorplane:volumes": {"models": {"sizeGib": 10, "backend": {"kind": "efs"}}},
        "tensorplane:workloads": {"digits-server": server},
        **more,
    }
    file = tmp_path / "Pulumi.prod.yaml"
    file.write_text(yaml.safe_dump(settings))
    return file


def test_a_group_for_others_jobs_is_a_note_and_no_fault(tmp_path: Path) -> None:
    note, done = contextvars.copy_context().run(check.run, _prod_with(tmp_path)).split("\n")
    assert note.startswith("note: tensorplane:nodeGroups.old.spot: no workload of this stack can run on spot nodes ")
    assert done == "Pulumi.prod.yaml: no mistakes found"


def test_groups_of_a_stack_with_teams_need_no_note(tmp_path: Path) -> None:
    said = contextvars.copy_context().run(check.run, _prod_with(tmp_path, **{"tensorplane:teams": {"vision": {}}}))
    assert said == "Pulumi.prod.yaml: no mistakes found"


def test_a_note_is_a_warning_of_the_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = contextvars.copy_context().run(check.load, _prod_with(tmp_path))
    told: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", told.append)
    rendering.run(lambda: stack.build(config))
    assert [line.split(": ")[0] for line in told] == ["tensorplane:nodeGroups.old.spot"]
