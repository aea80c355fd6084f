"""Jobs that cannot work: they end soon, say why, and run again when somebody asks for it; never by themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embedded import failures, linked_project, watch
from embedded.deploy import Stack
from embedded.fault import Fault
from embedded.progress import Step
from tests.e2e.conftest import Deployed

NAMESPACE = "tensorplane-failing"
SETTINGS = f"""
config:
  tensorplane:namespace: {NAMESPACE}
  tensorplane:controllers: {{kueue: present, jobset: present}}
  tensorplane:workloads:
    broken:
      kind: trainingJob
      strategy: {{kind: single}}
      command: [python3, -c, "raise ValueError('boom')"]
      resources: {{cpus: 0.1, memoryGib: 0.2}}
    unknown:
      kind: trainingJob
      strategy: {{kind: single}}
      image: nowhere.invalid/nothing:1
      command: [python3, train.py]
      resources: {{cpus: 0.1, memoryGib: 0.2}}
"""


@pytest.fixture
def stack(deployed: Deployed, tmp_path: Path) -> Stack:
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="failing"))
    made = linked_project.with_settings(named, tmp_path, SETTINGS)
    made.prepare(Step("prepare"))
    made.up(Step("pulumi up"))
    return made


def _runs(stack: Stack) -> dict[str, str]:
    return {name: each["jobSet"] for name, each in stack.outputs()["workloads"].items()}


def _pods(deployed: Deployed, run: str) -> list[dict[str, Any]]:
    selector = f"jobset.sigs.k8s.io/jobset-name={run}"
    return deployed.kube.items(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector=selector)


def _until(found: Callable[[], Any], seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    return value


def test_a_failed_job_says_why_and_runs_again_only_when_asked(deployed: Deployed, stack: Stack, tmp_path: Path) -> None:
    runs = _runs(stack)
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets/{runs['broken']}"

    def failed() -> dict[str, Any] | None:
        job_set = deployed.kube.get(path) or {}
        kinds = {one["type"] for one in job_set.get("status", {}).get("conditions", ()) if one["status"] == "True"}
        return job_set if "Failed" in kinds else None

    ended = _until(failed, 60)
    assert not ended["status"].get("restarts"), "the same error twice is enough"
    first, *said = failures.first(_pods(deployed, runs["broken"]))
    assert f"exit code {failures.EXIT_SAME}: " in first
    assert said[-1].strip() == "ValueError: boom"
    assert "pull" in _until(lambda: failures.cannot_begin(_pods(deployed, runs["unknown"])), 60).lower()

    # Nothing changes, and it is told all the same.
    assert set(stack.up(Step("pulumi up"))) == {"same"}
    with pytest.raises(Fault, match="ValueError: boom"):
        watch.jobs(deployed.kube, stack.outputs())
    deployed.kube.delete(path)
    _until(lambda: deployed.kube.get(path) is None, 30)
    assert set(stack.up(Step("pulumi up"))) == {"same"}
    with pytest.raises(Fault, match=rf"training job {runs['broken']}: it is not in the cluster"):
        watch.jobs(deployed.kube, stack.outputs())

    # The two documented ways: the same run, and another one.
    stack._update(["up", "--refresh"], Step("pulumi up"))
    assert deployed.kube.get(path)
    assert _runs(stack) == runs
    settings = SETTINGS.replace("kind: trainingJob\n", "kind: trainingJob\n      attempt: 2\n", 1)
    again = linked_project.with_settings(stack, tmp_path, settings)
    again.prepare(Step("prepare"))
    again.up(Step("pulumi up"))
    assert _runs(again)["broken"] != runs["broken"]
    assert _runs(again)["unknown"] == runs["unknown"]
    again.destroy(Step("destroy"))
