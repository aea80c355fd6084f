"""`tensorplane check`: the faults of a stack's file, told before any engine or cluster is touched."""

from __future__ import annotations

import contextvars
from pathlib import Path

import pytest

from cli import check
from embedded.fault import Fault
from embedded.paths import PROJECT


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
