"""A run is the same run with more memory: it goes on from its checkpoint, and is not run again once it has finished."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tensorplane.core.step import Step
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import ENDLESS, SMALL, WORKERS, Job, sections, stack_of_jobs
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("updates with previews, and six pods with TensorFlow; unit tests tell the words")


def test_a_half_trained_job_with_more_memory_continues_from_its_checkpoint(deployed: Deployed, tmp_path: Path) -> None:
    job = Job("loop", "train.py", WORKERS, {"STEPS": ENDLESS}, saves=True)
    with stack_of_jobs(deployed, tmp_path, "resized", [job]) as (stack, running):
        saved = int(running.said(job.name, r"saved=(\d+)")[1])
        run, chief = running.runs[job.name], running.pods(job.name)["worker-0"]["metadata"]["uid"]
        told: list[str] = []
        stack.up(told, **sections([replace(job, resources={**SMALL, "memoryGib": 1.375})]))
        assert stack.workloads()[job.name]["jobSet"] == run, "the same run"
        promised = re.fullmatch(r"restarts loop from step (\d+) or later", "\n".join(told))
        assert promised, told
        first_line = running.said(job.name, rf" step=(\d+) steps={ENDLESS} ", not_by=chief)
        assert saved <= int(promised[1]) <= int(first_line[1]) < int(ENDLESS)
        grown = running.pods(job.name)["worker-0"]
        assert grown["spec"]["containers"][0]["resources"]["requests"]["memory"] == "1408Mi"


def test_a_finished_run_whose_objects_were_cleaned_up_is_not_run_again(deployed: Deployed, tmp_path: Path) -> None:
    job = Job("short", "train.py", WORKERS, {"STEPS": "100"}, saves=True)
    with stack_of_jobs(deployed, tmp_path, "finished", [job]) as (stack, running):
        assert running.ended(job.name).succeeded
        chief = running.pods(job.name)["worker-0"]["metadata"]["uid"]
        deployed.kube.delete(running.path(job.name))
        eventually(lambda: deployed.kube.get(running.path(job.name)) is None)
        stack.stack.up(Step("pulumi up"), refresh=True)
        running.said(job.name, rf"run {running.runs[job.name]} has finished; nothing to do", not_by=chief)
        assert running.ended(job.name).succeeded
