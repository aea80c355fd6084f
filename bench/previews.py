"""What policies and the report add to the engine's preview of the production stack, and of 1,000 resources."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.figure import Figure, Measured
from tensorplane import stack_file
from tensorplane.cli.commands.preview import engine
from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.driver.stack_settings import call
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.driver.update.stack import Stack

_STACK = "prod"
_JOBS = 202
"""With four resources each, the production stack has 1,000 of them."""
_RUNS = 5
_JOB: dict[str, Any] = {
    "kind": "trainingJob",
    "strategy": {"kind": "single"},
    "command": ["python3", "-c", "pass"],
    "image": f"registry.example/train@sha256:{'0' * 64}",
    "queue": "production",
    "resources": {"cpus": 0.1, "memoryGib": 0.5},
}


def _pairs(one: Callable[[], object], other: Callable[[], object]) -> list[tuple[float, float]]:
    """Seconds of both, in turn, after one run of each that compiles modules and fills caches."""
    one(), other()
    return [(_seconds(one), _seconds(other)) for _ in range(_RUNS)]


def _seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _compared(pairs: list[tuple[float, float]], one: str, other: str) -> Measured:
    ratio = statistics.median(first / second for first, second in pairs)
    first, second = (statistics.median(each) for each in zip(*pairs, strict=True))
    return Measured(ratio, f"{one} {first:.1f} s, {other} {second:.1f} s (medians of {_RUNS} pairs)")


def _policies() -> Measured:
    """The production stack with many jobs, which all rules accept."""
    jobs = {f"job-{index}": _JOB for index in range(_JOBS)}
    config = {**stack_file.read(PROJECT / f"Pulumi.{_STACK}.yaml").config, "tensorplane:workloads": jobs}
    with engine.opened(_STACK, "") as preview, tempfile.TemporaryDirectory(prefix="bench-previews-") as folder:
        stack = Stack(preview.settings, preview.pulumi, dict(preview.environment))
        linked = stack.with_settings(Path(folder), json.dumps({"config": config}))
        checked = replace(preview, settings=linked.settings)
        plain = replace(checked, policies=Policies.SKIP)
        resources = _accepted(plain)
        pairs = _pairs(lambda: _accepted(checked), lambda: _accepted(plain))
        return _compared(pairs, f"{resources} resources with policies", "without")


def _accepted(preview: Preview) -> int:
    """How many resources it has."""
    streamed = preview.stream()
    if streamed.failed:
        raise UserError(*(streamed.complaints or ("the preview failed",)))
    return sum("resourcePreEvent" in event for event in streamed.events)


def _report() -> Measured:
    """The whole command, with policies, costs, picture and Markdown, against what it is built on."""
    with engine.opened(_STACK, "") as preview, tempfile.TemporaryDirectory(prefix="bench-previews-") as folder:
        settings = preview.settings
        settings.make_stack(preview.pulumi, preview.environment, select=False)
        report = [
            sys.executable,
            "-m",
            "tensorplane.cli",
            "preview",
            "--stack",
            _STACK,
            "--report",
            f"{folder}/preview.md",
        ]
        plain: list[str | Path] = [preview.pulumi, "preview", "--stack", _STACK, "--config-file", settings.file]

        def reported() -> None:
            subprocess.run(report, cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)

        return _compared(
            _pairs(reported, lambda: call(plain, PROJECT, preview.environment)), "report", "`pulumi preview`"
        )


FIGURES = (
    Figure("policies-in-preview", "<= 1.1", "x", _policies),
    Figure("report-to-preview", "<= 2", "x", _report),
)
