"""A reviewer reads which prices are spot prices, which are on demand, and of when: by machine, in one note."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.commands.preview import cost_notes, words
from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.sections import cost
from tests.hosts import preview_events as events

ESTIMATES = (
    "Estimates in US dollars without taxes, discounts, disks, network traffic and the cluster itself; - means unknown."
)


def _group(machine: str | None, date: str = "2026-01-21", usd: float | None = 2.0, **more: Any) -> dict[str, Any]:
    recorded = events.cost(date=date, max=(usd, usd) if usd is not None else None)
    return {**events.group("none", machine, (0, 4), hourlyUsdMax=usd), **recorded, **more}


def _report(**groups: tuple[dict[str, Any], dict[str, Any]]) -> Report:
    return Report("prod", components={"tensorplane:index:NodeGroup": groups})


def test_the_note_lists_machines_by_basis_and_date() -> None:
    cpu, old, new = _group("m7i.2xlarge", "2024-10-10"), _group("g4dn.xlarge"), _group("p5.48xlarge")
    spot = _group("g6.xlarge", "2025-06-28", spot=True)
    report = _report(cpu=(cpu, cpu), more=(cpu, cpu), old=(old, old), new=(new, new), spot=({}, spot))
    assert cost_notes.price_note(report) == (
        f"{ESTIMATES} List prices on demand: m7i.2xlarge of 2024-10-10; p5.48xlarge, g4dn.xlarge of 2026-01-21. "
        "Spot prices, which change daily: g6.xlarge of 2025-06-28."
    )


def test_a_price_that_the_catalog_changed_has_both_dates() -> None:
    report = _report(new=(_group("p5.48xlarge", "2026-01-21"), _group("p5.48xlarge", "2026-07-20", usd=3.0)))
    assert cost_notes.price_note(report).endswith("demand: p5.48xlarge of 2026-01-21; p5.48xlarge of 2026-07-20.")


def test_a_price_without_a_record_has_an_unknown_date_and_a_missing_price_none() -> None:
    unrecorded = events.group("none", "m7i.large", (0, 4), hourlyUsdMax=1.0)
    report = _report(a=(unrecorded, {}), b=({}, _group("p6-b200.48xlarge", "", None)), c=(_group(None), {}))
    assert cost_notes.price_note(report) == f"{ESTIMATES} List prices on demand: m7i.large of an unknown date."


ON_DEMAND, SPOT = _group("g4dn.xlarge"), _group("g4dn.xlarge", "2025-06-28", 1.0, spot=True)
LARGER = {**SPOT, "hourlyUsdMax": 2.0, "maxNodes": 8}


@pytest.mark.parametrize(
    ("old", "new", "row", "line"),
    [
        (ON_DEMAND, SPOT, "a (on demand → spot)", "on spot nodes, which the cloud can take back, -$1.00/h at most"),
        (SPOT, ON_DEMAND, "a (spot → on demand)", "no longer on spot nodes, +$1.00/h at most"),
        (SPOT, LARGER, "a (spot)", "4 more nodes at most (4 → 8), +$1.00/h at most (spot price)"),
        ({}, SPOT, "a (spot)", "4 more nodes at most (g4dn.xlarge), +$1.00/h at most (spot price)"),
        (SPOT, {}, "a (spot, deleted)", "4 fewer nodes at most (g4dn.xlarge), -$1.00/h at most (spot price)"),
        ({}, ON_DEMAND, "a", "4 more nodes at most (g4dn.xlarge), +$2.00/h at most"),
    ],
)
def test_a_group_at_spot_prices_says_so_wherever_its_price_is(
    old: dict[str, Any], new: dict[str, Any], row: str, line: str
) -> None:
    report = _report(a=(old, new))
    assert f"| {row} |" in "\n".join(cost.markdown(report))
    assert words.lines(report)[0].endswith(line)


def test_the_nodes_of_a_job_are_named_with_their_spot_prices() -> None:
    labels = {"tensorplane.dev/flavor": "t4-spot", "tensorplane.dev/accelerator": "t4"}
    group = events.group("t4", "g4dn.xlarge", (0, 4), gpusMax=4, hourlyUsdMax=2.0, spot=True, labels=labels)
    queue, job = events.queue("low", {"t4-spot": (4, 0, 4)}), {"queue": "research", "gpus": 1}
    report = Report(
        "prod",
        components={
            "tensorplane:index:NodeGroup": {"old": (group, group)},
            "tensorplane:index:Queue": {"research": (queue, queue)},
            "tensorplane:index:TrainingJob": {"digits": (job, job)},
        },
        pods_after=(Pods("tensorplane:index:TrainingJob", "digits", "digits", "research", gpus=1),),
    )
    (line,) = cost_notes.training_shares(report)
    assert line.startswith("digits: its share of its nodes, which cost per hour and node: old $0.50 (spot); while ")


def _costs(**figures: tuple[float, float] | None) -> dict[str, Any]:
    return {"queue": "low", **events.cost("no price", "", **figures)}


@pytest.mark.parametrize("kind", ["Queue", "TrainingJob"])
def test_a_table_without_a_known_price_is_not_drawn(kind: str) -> None:
    unknown: Any = {f"tensorplane:index:{kind}": {"a": ({}, _costs(hour=None, owned=None, borrowed=None))}}
    report = Report("prod", components={**unknown, "tensorplane:index:NodeGroup": {"b": (ON_DEMAND, ON_DEMAND)}})
    text = "\n".join(cost.markdown(report))
    assert "| b | 2.00 | same |" in text
    assert "| a |" not in text
    assert "- a: no price" in text, "why it is not there"
    shown = Console(file=io.StringIO(), width=120)
    shown.print(*cost.terminal(report, 120))
    assert isinstance(shown.file, io.StringIO)
    assert not re.search(r"^a ", shown.file.getvalue(), re.MULTILINE)


def test_a_cost_that_is_unknown_is_called_so_at_the_beginning() -> None:
    group = _group("p6-b200.48xlarge", "", None)
    assert [block.markdown for block in cost.head(_report(a=(group, group)))] == [
        "**Cost:** unknown: no price of its machines is known."
    ]
    assert list(cost.markdown(_report(a=(group, group)))) == []
    assert list(cost.head(_report(a=(_group(None, "", None), {})))) == [], "no machine is rented"
