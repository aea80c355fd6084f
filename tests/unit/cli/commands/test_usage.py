"""`tensorplane usage`: the table of what the cluster recorded, with an estimate of its cost."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.commands.usage import command
from tensorplane.cli.commands.usage import command as usage_command
from tensorplane.cli.commands.usage.command import UsageOptions
from tensorplane.components.base.price import Usd
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import StackSettings


def _record(namespace: str, usage: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": f"usage.{namespace}"}, "data": {"usage": json.dumps(usage), "counted": "{}"}}


def _flavor(name: str, *usd: float) -> dict[str, Any]:
    nodes = [{"usd": each, "cpus": 32, "memory_gib": 128, "accelerators": 4} for each in usd]
    notes = {"tensorplane.dev/node-prices": json.dumps(nodes)} if usd else {}
    labels = {"tensorplane.dev/flavor": name.removeprefix("tp-")}
    return {"metadata": {"name": name, "annotations": notes}, "spec": {"nodeLabels": labels}}


RECORDS = [
    _record("tp", {"2026-11": {"research": {"tp-t4": 7200.0}}}),
    _record("seen", {"2026-10": {"research": {"tp-t4": 3600.0}}, "2026-11": {"research": {"tp-a100": 1800.0}}}),
]
FLAVORS = [_flavor("tp-t4", 2.0, 4.0), _flavor("tp-a100")]


def test_hours_have_the_names_of_teams_and_flavors_and_a_range_of_costs() -> None:
    found = command.usage_rows(RECORDS, FLAVORS, {"seen": "vision"})
    assert [(row.month, row.team, row.flavor, row.gpu_hours, row.usd) for row in found] == [
        ("2026-10", "vision", "t4", 1.0, Usd(0.5, 1.0)),
        ("2026-11", None, "t4", 2.0, Usd(1.0, 2.0)),
        ("2026-11", "vision", "a100", 0.5, None),
    ]
    assert command.total(found) == (3.5, None)
    assert command.total(found[:2]) == (3.0, Usd(1.5, 3.0))


def test_an_unknown_price_is_a_dash_in_the_row_and_in_the_sum() -> None:
    output = io.StringIO()
    usage_command.show(command.usage_rows(RECORDS, FLAVORS, {"seen": "vision"}), "all", Console(file=output, width=80))
    lines = [line.split() for line in output.getvalue().splitlines()]
    assert lines[1] == ["2026-10", "vision", "research", "t4", "1.0", "$0.50-1.00"]
    assert lines[3] == ["2026-11", "vision", "research", "a100", "0.5", "-"]
    assert lines[4] == ["together", "3.5", "-"]


def test_a_month_without_jobs_says_so() -> None:
    output = io.StringIO()
    usage_command.show([], "2026-12", Console(file=output, width=80))
    assert output.getvalue() == "No job has held GPUs in 2026-12.\n"


@dataclass
class _Api:
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return self.answers.get(path, [])


def test_without_a_record_it_says_when_there_is_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="stack dev: the cluster has recorded no usage; it does once a stack"):
        usage_command.recorded(_Api(), StackSettings("dev", tmp_path))  # type: ignore[arg-type]


@pytest.mark.parametrize("month", ["november", "2026-13", "2026"])
def test_a_month_that_is_none_is_refused(month: str) -> None:
    with pytest.raises(UserError, match=f"--month: '{month}' is not a month; set one such as "):
        usage_command.run(UsageOptions("dev", month=month), Console())
