"""The command line for people who train: a job's first line, a list of many jobs, and how late followed lines come."""

from __future__ import annotations

import copy
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import instance, waiting
from bench.figure import Figure, Measured
from bench.instance import Running
from tensorplane.cli.commands.run import plan, request
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobOptions
from tensorplane.components import versions
from tensorplane.core.errors import UserError
from tensorplane.toolchain import launchers

_RUNS, _LISTS, _JOBS, _PODS = 7, 5, 1000, 16
_PAUSE_SECONDS = 3.0
_START_SECONDS = 120.0
_FOLLOWED_SECONDS = 30.0
_LATENCY_QUANTILE = 0.99
_GROUP = f"/apis/{versions.JOBSET_API}"
_SMALL_JOB_OPTIONS = ("--queue", "training", "--cpus", "0.01", "--memory-gib", "0.05")
_SAYS_THE_TIME = "import time; print(time.time(), {number}, flush=True)"
_KEEPS_SAYING = "import time\nwhile True: print(time.time(), flush=True); time.sleep(0.2)"


@contextmanager
def _person() -> Iterator[tuple[Running, Path]]:
    """The dev stack deployed, and a folder without files."""
    with instance.running() as bench, tempfile.TemporaryDirectory(prefix="bench-person-") as folder:
        bench.deploy()
        bench.wait_for_controllers()
        instance.settle(_PAUSE_SECONDS)
        (Path(folder) / "README").write_text("a job has at least one file")
        yield bench, Path(folder)


def _started(folder: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TENSORPLANE_INSTANCE": instance.BENCH.name}
    return subprocess.Popen(
        launchers.argv("tensorplane.cli", *words), cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )


def _output(folder: Path, *words: str) -> str:
    process = _started(folder, *words)
    shown, _ = process.communicate()
    if process.returncode:
        raise UserError(f"tensorplane {' '.join(words)}: exit code {process.returncode}")
    return shown


def _first_line() -> Measured:
    """From the command to the time that the job's code prints."""
    with _person() as (_, folder):
        taken = []
        for number in range(_RUNS):
            began = time.time()
            shown = _output(
                folder, "run", *_SMALL_JOB_OPTIONS, "--", "python", "-c", _SAYS_THE_TIME.format(number=number)
            )
            first = next(line for line in shown.splitlines() if line.endswith(f" {number}"))
            taken.append(float(first.split()[0]) - began)
            time.sleep(_PAUSE_SECONDS)
    return Measured(statistics.median(taken), f"{_RUNS} jobs, {min(taken):.1f} to {max(taken):.1f} s")


def _many_jobs() -> Measured:
    """The whole command, with a thousand jobs in a queue."""
    with _person() as (bench, folder):
        job = request.job("many", None, ("python", "-c", "pass"), JobOptions(queue="training"))
        job_set = plan.planned(job, Platform.of_stack("dev")).manifest.job_set
        namespace = job_set["metadata"]["namespace"]
        for number in range(_JOBS):
            one = copy.deepcopy(job_set)
            one["metadata"]["name"] = f"many-{number}"
            (of_role,) = one["spec"]["replicatedJobs"]
            # More than the queue ever gets, so that all of them wait.
            of_role["template"]["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "900"
            bench.kube.apply(f"{_GROUP}/namespaces/{namespace}/jobsets/many-{number}", one, "bench")
        waiting.until(
            lambda: len(bench.kube.items(f"/apis/{versions.KUEUE_API}/namespaces/{namespace}/workloads")) >= _JOBS,
            _START_SECONDS,
            lambda: "Kueue has not seen all jobs",
        )
        instance.settle(_PAUSE_SECONDS)
        taken = []
        for _ in range(_LISTS):
            began = time.monotonic()
            jobs = json.loads(_output(folder, "jobs", "--json"))
            taken.append(time.monotonic() - began)
            if len(jobs) < _JOBS:
                raise UserError(f"tensorplane jobs: lists {len(jobs)} of {_JOBS} jobs")
    return Measured(statistics.median(taken), f"{_LISTS} lists, {min(taken):.2f} to {max(taken):.2f} s")


def _lag() -> Measured:
    """How long after it was printed a line comes out of `logs -f`."""
    with _person() as (bench, folder):
        shown = _output(
            folder, "run", *_SMALL_JOB_OPTIONS, "--workers", str(_PODS), "--detach", "--", "python", "-c", _KEEPS_SAYING
        )
        run = shown.partition(":")[0]
        at = "/api/v1/namespaces/tensorplane-dev/pods"
        labels = f"jobset.sigs.k8s.io/jobset-name={run}"
        waiting.until(
            lambda: len(bench.kube.items(at, labelSelector=labels, fieldSelector="status.phase=Running")) == _PODS,
            _START_SECONDS,
            lambda: f"{run}: not all pods run",
        )
        instance.settle(_PAUSE_SECONDS)
        follower = _started(folder, "logs", "-f", "--tail", "1", run)
        assert follower.stdout  # noqa: S101
        lags: dict[str, list[float]] = {}
        end = time.monotonic() + _FOLLOWED_SECONDS
        for line in follower.stdout:
            pod, _, text = line.partition(" │ ")
            lags.setdefault(pod, []).append(time.time() - float(text))
            if time.monotonic() > end:
                break
        follower.terminate()
        follower.wait()
    if len(lags) < _PODS:
        raise UserError(f"tensorplane logs -f: shows {len(lags)} of {_PODS} pods")
    # The first line of each pod was printed before the command began.
    found = sorted(lag for of_pod in lags.values() for lag in of_pod[1:])
    worst = found[int(_LATENCY_QUANTILE * len(found))]
    return Measured(worst, f"99 % of {len(found)} lines of {_PODS} pods; median {statistics.median(found):.2f} s")


FIGURES = (
    Figure("run-to-first-line", "<= 6", "s", _first_line),
    Figure("jobs-1000", "<= 2", "s", _many_jobs),
    Figure("logs-lag", "<= 1", "s", _lag),
)
