"""Steps per second of the digits training through tensorplane, compared with the same program launched by hand."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from bench import instance, rate
from bench.by_hand import Line, Program
from bench.figure import Figure, Measured
from bench.instance import Running
from bench.quiet import OTHERS_LIMIT, OtherPrograms
from tensorplane import stack_file
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.paths import PROJECT
from tensorplane.core.scratch import scratch
from tensorplane.workloads.pods import sources

_ROUNDS, _ATTEMPTS = 11, 20
_STEPS = 5000
_WARM_UP = 1000
_SETTLE_SECONDS = 5
_LIMIT_SECONDS = 600
_WORKLOADS, _JOB = "tensorplane:workloads", "digits"


def _measure() -> Measured:
    """In rounds, through tensorplane and by hand beside the same control plane.

    Two runs of the same program differ by 5 %, since each has its processes on other processors and pages, so there are
    many short rounds rather than a few long ones.
    """
    rounds: list[tuple[float, float]] = []
    with scratch("bench") as folder, instance.running() as bench:
        bench.deploy()  # it installs the controllers
        job = _settings()["config"][_WORKLOADS][_JOB]
        bench.wait_for_controllers()
        program = Program(folder / "by-hand")
        program.add({target: sources.located(source) for target, source in job["files"].items()})
        script = job["command"][-1]
        for attempt in range(_ATTEMPTS):
            ways = {
                "by-hand": lambda run: _by_hand(program, script, run),
                "through": lambda run: _through_tensorplane(bench, run, folder),
            }
            # The order alternates, so that a machine whose speed changes favours neither.
            order = list(ways) if attempt % 2 else list(reversed(ways))
            found = {way: ways[way](f"{way}-{attempt}") for way in order}
            (by_hand, while_by_hand), (through, while_through) = found["by-hand"], found["through"]
            others = max(while_by_hand, while_through)
            counts = others <= OTHERS_LIMIT
            rounds += [(through, by_hand)] if counts else []
            print(
                f"by hand {by_hand:.0f} steps/s, through tensorplane {through:.0f}; "
                f"others took {others:.2f} processors{'' if counts else ', so it does not count'} "
                f"({len(rounds)} of {_ROUNDS} rounds)",
                flush=True,
            )
            if len(rounds) == _ROUNDS:
                return _measured(rounds)
    raise UserError(
        f"this machine is busy: {len(rounds)} of {_ATTEMPTS} rounds had it to themselves; "
        "stop other programs and measure again"
    )


def _measured(rounds: list[tuple[float, float]]) -> Measured:
    ratio = rate.paired(rounds)
    return Measured(
        ratio.median,
        f"by hand {ratio.second:.0f} steps/s, through tensorplane {ratio.first:.0f} (medians of {len(rounds)} rounds); "
        f"{ratio.interval}",
    )


def _by_hand(program: Program, script: str, run: str) -> tuple[float, float]:
    """Steps per second, and what others used."""
    instance.settle(_SETTLE_SECONDS)
    with OtherPrograms(instance.BENCH) as others:
        lines = program.run(run, script, {"STEPS": str(_STEPS)})
    return rate.steps_per_second(lines, _WARM_UP), others.share


def _settings() -> dict[str, Any]:
    return {"config": dict(stack_file.read(PROJECT / "Pulumi.dev.yaml").config)}


def _long_run(run: str) -> str:
    """Only the dev stack's job, long enough, as a new run for each measurement."""
    tree = _settings()
    job = tree["config"][_WORKLOADS][_JOB]
    job["env"] = {"STEPS": _STEPS, "RUN": run}
    tree["config"][_WORKLOADS] = {_JOB: job}
    return yaml.safe_dump(tree)


def _through_tensorplane(bench: Running, run: str, folder: Path) -> tuple[float, float]:
    """Steps per second, and what others used."""
    instance.settle(_SETTLE_SECONDS)
    with OtherPrograms(instance.BENCH) as others:
        outputs = bench.deploy_with(_long_run(run), folder).outputs()
        namespace, job_set = outputs["namespace"], outputs["workloads"][_JOB]["jobSet"]
        _wait_until_completed(bench.kube, namespace, job_set)
    return rate.steps_per_second(_log(bench.kube, namespace, job_set), _WARM_UP), others.share


def _log(kube: Kube, namespace: str, job_set: str) -> list[Line]:
    """The chief's log lines with their times."""
    labels = f"jobset.sigs.k8s.io/jobset-name={job_set},batch.kubernetes.io/job-completion-index=0"
    (chief,) = kube.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=labels)
    log = kube.text(f"/api/v1/namespaces/{namespace}/pods/{chief['metadata']['name']}/log", timestamps="true")
    return [stamped(line) for line in log.splitlines()]


def stamped(line: str) -> Line:
    """A line of a log with timestamps."""
    at, _, text = line.partition(" ")
    return datetime.fromisoformat(at).timestamp(), text


def _wait_until_completed(kube: Kube, namespace: str, job_set: str) -> None:
    """Polls seldom and reads little, because it takes processor time from the run."""
    end = time.monotonic() + _LIMIT_SECONDS
    while True:
        found = kube.get(f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{namespace}/jobsets/{job_set}") or {}
        conditions = {c["type"] for c in found.get("status", {}).get("conditions", []) if c["status"] == "True"}
        if "Completed" in conditions:
            return
        if "Failed" in conditions or time.monotonic() > end:
            raise UserError(f"training job {job_set}: not completed, its conditions: {sorted(conditions)}")
        time.sleep(2)


FIGURES = (Figure("training-ratio", ">= 0.98", "x", _measure),)
