"""Figures: goals, what is recorded, when a machine is quiet, and what memory, logs and pairs of rates come to."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from rich.console import Console

from bench import __main__ as main
from bench import endless_gang, figure, memory, quiet, rate, training
from bench.figure import Figure, Measured
from tensorplane.core.errors import UserError


def _figure(goal: str) -> Figure:
    return Figure("speed", goal, "s", lambda: Measured(1))


@pytest.mark.parametrize(
    ("goal", "value", "met"),
    [
        ("<= 90", 90, True),
        ("<= 90", 90.1, False),
        (">= 0.95", 0.95, True),
        (">= 0.95", 0.94, False),
    ],
)
def test_a_goal_has_a_side_and_includes_its_limit(goal: str, value: float, met: bool) -> None:
    assert _figure(goal).met(value) is met


def test_results_keep_what_was_measured_before(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    figure.record(_figure("<= 1"), Measured(0.12345), results)
    figure.record(Figure("size", ">= 2", "GiB", lambda: Measured(1)), Measured(1), results)
    figure.record(_figure("<= 1"), Measured(2), results)
    assert json.loads(results.read_text()) == {
        "size": {"measured": 1, "goal": ">= 2", "met": False, "unit": "GiB"},
        "speed": {"measured": 2, "goal": "<= 1", "met": False, "unit": "s"},
    }


def test_the_table_shows_value_goal_and_peer() -> None:
    console = Console(record=True, width=120, quiet=False)
    with console.capture() as shown:
        figure.show(console, [(_figure("<= 3"), Measured(0.511, "9 pods"))])
    assert shown.get().splitlines()[1].split() == ["speed", "0.511", "s", "<=", "3", "s", "9", "pods"]


def test_a_misspelt_figure_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["pod-strat"]) == 1
    assert "pod-strat: unknown figure; choose among cold-up" in capsys.readouterr().err


def test_every_goal_has_a_figure() -> None:
    goals = {name: one.goal for name, one in main.FIGURES.items()}
    assert goals == {
        "checkpoint-overhead": "<= 3.5",
        "computed-interval": ">= 0.98",
        "cold-up": "<= 30",
        "cold-up-releases": "<= 4",
        "cached-up": "<= 90",
        "second-up": "<= 15",
        "idle-memory": "<= 1.2",
        "pod-start": "<= 3",
        "snapshot-speed": ">= 1000",
        "snapshot-slope": "<= 1.2",
        "restore-ms": "<= 100",
        "snapshot-extra-bytes": "<= 1",
        "pod-read": ">= 0.9",
        "pod-write": ">= 0.9",
        "training-ratio": ">= 0.98",
        "input-first-epoch": ">= 1.7",
        "input-first-epoch-reduced": ">= 1.7",
        "input-later-epochs": ">= 5",
        "input-wait": "<= 5",
        "weak-scaling": ">= 0.90",
        "run-to-first-line": "<= 6",
        "sweep-overhead": "<= 3",
        "serving-rate": ">= 0.95",
        "serving-p99": "<= 1.1",
        "serving-batching-p99": "<= 1.2",
        "published-to-answer": "<= 3",
        "post-swap-p99": "<= 1.5",
        "jobs-1000": "<= 2",
        "logs-lag": "<= 1",
        "kill-to-first-step": "<= 20",
        "goodput-1-minute": ">= 65",
        "goodput-5-minutes": ">= 90",
        "lost-node": "<= 80",
        "lost-node-20": "<= 50",
        "lost-nodes-agent": "<= 0.5",
        "fit-to-legacy": ">= 1.0",
        "parameter-server": ">= 0.98",
        "check": "<= 1.0",
        "policies-in-preview": "<= 1.1",
        "report-to-preview": "<= 2",
        "stack-start": "<= 1.5",
        "graph-exponent": "<= 1.1",
        "graph-to-plain": "<= 1.5",
        "queues-generated": "<= 2",
        "queues-exponent": "<= 1.1",
        "fleet-ready": "<= 60",
        "gpu-pods-rate": ">= 0.9",
        "queue-makespan": "<= 2",
        "queue-wait": "<= 0.5",
        "asha-time": "<= 0.40",
        "dataset-commit": "<= 1",
        "dataset-dedup": ">= 100",
        "trigger-to-first-line": "<= 5",
        "stage-overhead": "<= 3",
        "pipeline-rerun": "<= 1",
    }


def test_figures_that_take_long_must_be_named() -> None:
    long = {name for name, one in main.FIGURES.items() if one.by_name}
    assert long == {"cold-up", "cold-up-releases", "goodput-1-minute", "goodput-5-minutes"}


def test_a_busy_machine_is_waited_for() -> None:
    loads = [4.0, 2.0, 1.6, 1.2]
    slept: list[float] = []
    load = quiet.wait_for_low_load(lambda: loads.pop(0) if len(loads) > 1 else loads[0], slept.append)
    assert load == 1.2
    assert len(slept) == 3


def test_a_machine_that_stays_busy_is_a_fault() -> None:
    slept: list[float] = []
    with pytest.raises(UserError, match=r"load 3\.0 for 1 minutes"):
        quiet.wait_for_low_load(lambda: 3.0, slept.append, patience=60)
    assert sum(slept) == 60


LOG = """\
2026-11-21T08:55:01.000000000Z 2026-11-21 08:55:01 some other line step=1
2026-11-21T08:55:02.000000000Z tensorplane: workers=2 step=0 steps=400 resumed=False start_seconds=8.1
2026-11-21T08:55:12.000000000Z tensorplane: step=100 loss=0.5 steps_per_second=10.0
2026-11-21T08:55:13.000000000Z tensorplane: step=200 loss=0.5 steps_per_second=100.0
2026-11-21T08:55:13.500000000Z tensorplane: saved=200
2026-11-21T08:55:15.500000123Z tensorplane: step=400 loss=0.5 steps_per_second=100.0
"""


def test_a_rate_leaves_the_warm_up_out_and_the_checkpoints_in() -> None:
    lines = [training.stamped(line) for line in LOG.splitlines()]
    assert rate.steps_per_second(lines, warm_up=150) == pytest.approx(200 / 2.5)


def test_a_log_without_steady_lines_is_a_fault() -> None:
    lines = [training.stamped(line) for line in LOG.splitlines()]
    with pytest.raises(UserError, match="1 lines after step 300"):
        rate.steps_per_second(lines, warm_up=300)


RESTARTED = """\
2026-11-21T08:56:10.000000000Z tensorplane: started
2026-11-21T08:56:17.000000000Z tensorplane: workers=2 step=400 steps=1000 resumed=True start_seconds=7.0
2026-11-21T08:56:18.500000000Z tensorplane: step=450 loss=0.5 steps_per_second=40.0
2026-11-21T08:56:19.000000000Z tensorplane: step=500 loss=0.5 steps_per_second=100.0
"""


def test_a_gang_has_begun_with_its_first_step() -> None:
    lines = [training.stamped(line) for line in RESTARTED.splitlines()]
    begun = endless_gang.begun(lines)
    assert begun and (begun.ready - begun.python, begun.first_step - begun.ready, begun.step) == (7.0, 1.5, 400)
    assert endless_gang.begun(lines[:2]) is None
    assert endless_gang.reached(lines, lines[2][0]) == 450
    assert endless_gang.reached(lines, lines[1][0]) is None


def test_a_ratio_is_the_median_of_the_pairs_not_of_the_columns() -> None:
    ratio = rate.paired([(50, 100), (300, 300), (8, 10), (90, 100), (700, 700)])
    assert ratio.median == pytest.approx(0.9)
    assert ratio.low == pytest.approx(0.5)
    assert ratio.high == pytest.approx(1.0)


def test_the_interval_narrows_with_the_spread() -> None:
    chance = random.Random(5)
    close = rate.paired([(100 + chance.uniform(-1, 1), 100) for _ in range(9)])
    assert 0.99 <= close.low <= close.median <= close.high <= 1.01


def test_a_share_is_read_in_kibibytes() -> None:
    assert (
        memory.proportional_share("00-ff ---p 0 00:00 0 [rollup]\nRss: 900 kB\nPss:  2048 kB\nPss_Dirty: 7 kB\n")
        == 2**21
    )


def test_memory_names_the_largest_and_sums_the_rest() -> None:
    shares = {f"program-{size}": size * 2**20 for size in range(1, 11)}
    text = memory.describe(shares)
    assert text.startswith("MiB: program-10 10, program-9 9,")
    assert text.endswith("program-3 3, others 3")
