"""Jobs that cannot work: they end soon, say why, and run again when somebody asks for it; never by themselves."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.commands.why import query
from driver import failures, linked_project, status, watch
from driver.deploy import Stack
from embedded.fault import Fault
from embedded.step import Step
from tests.e2e.conftest import Deployed
from tests.support.waiting import eventually

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
    """`pulumi up` waits for no job: of these one fails and the other never begins."""
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


def _told_of_the_image(deployed: Deployed, stack: Stack, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make up`, `why` and `make status` name the image, what is wrong with it, and how the job ends."""
    ends = f"kubectl -n {NAMESPACE} delete jobset {run}"
    monkeypatch.setattr(watch, "_PULL_SECONDS", 2)
    with pytest.raises(Fault, match=rf"{run} cannot start: .* image nowhere.invalid/nothing:1 cannot .*{ends}"):
        watch.wait_for_start(deployed.kube, stack.outputs(), Step("jobs"))
    found = query.ask(deployed.kube, NAMESPACE, run, {})
    assert (found.state, found.lines[-1].endswith(ends)) == ("stuck", True)
    assert "image nowhere.invalid/nothing:1 cannot be pulled: " in found.lines[0]
    console = Console(width=1000, file=io.StringIO())
    console.print(status.report(deployed.kube))
    assert isinstance(console.file, io.StringIO)
    assert "image nowhere.invalid/nothing:1 cannot be pulled: " in console.file.getvalue()


def test_a_failed_job_says_why_and_runs_again_only_when_asked(
    deployed: Deployed, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = _runs(stack)
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets/{runs['broken']}"

    def failed() -> dict[str, Any] | None:
        job_set = deployed.kube.get(path) or {}
        kinds = {one["type"] for one in job_set.get("status", {}).get("conditions", ()) if one["status"] == "True"}
        return job_set if "Failed" in kinds else None

    ended = eventually(failed) or {}
    assert not ended["status"].get("restarts"), "the same error twice is enough"
    first, *said = failures.first(_pods(deployed, runs["broken"]))
    assert f"exit code {failures.EXIT_SAME}: " in first
    assert said[-1].strip() == "ValueError: boom"
    unpulled = eventually(lambda: failures.cannot_start(_pods(deployed, runs["unknown"])))
    assert ": image nowhere.invalid/nothing:1 cannot be pulled: " in unpulled
    assert "nowhere.invalid" in unpulled.rpartition("ImagePull")[2], "the kubelet's reason"
    _told_of_the_image(deployed, stack, runs["unknown"], monkeypatch)

    # Nothing changes, and it is told all the same.
    assert set(stack.up(Step("pulumi up"))) == {"same"}
    with pytest.raises(Fault, match="ValueError: boom"):
        watch.jobs(deployed.kube, stack.outputs())
    deployed.kube.delete(path)
    eventually(lambda: deployed.kube.get(path) is None)
    assert set(stack.up(Step("pulumi up"))) == {"same"}
    with pytest.raises(
        Fault, match=rf"training job {runs['broken']}: its JobSet was deployed, but no longer exists in"
    ):
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
