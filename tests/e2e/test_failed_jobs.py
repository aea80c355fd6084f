"""Jobs that cannot work: they end soon, say why, and run again when somebody asks for it; never by themselves."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tensorplane.cli.commands.why import command as why
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.driver import status, watch
from tensorplane.driver.runs import failures
from tensorplane.driver.update.stack import Stack
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import Running
from tests.e2e.stacks import OwnStack
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("3 ups; told by unit/driver/test_watched_jobs.py and test_failures.py")

_NAMESPACE = "tensorplane-failing"
_JOB = {"kind": "trainingJob", "strategy": {"kind": "single"}, "resources": {"cpus": 0.1, "memoryGib": 0.2}}
_BROKEN = {**_JOB, "command": ["python3", "-c", "raise ValueError('boom')"]}
_UNKNOWN = {**_JOB, "image": "nowhere.invalid/nothing:1", "command": ["python3", "train.py"]}


@pytest.fixture
def failing(deployed: Deployed, tmp_path: Path) -> Iterator[OwnStack]:
    """`pulumi up` waits for no job: of these one fails and the other never begins."""
    with stacks.own(deployed, tmp_path, "failing") as made:
        made.up(workloads={"broken": _BROKEN, "unknown": _UNKNOWN})
        yield made


def _told_of_the_image(kube: Kube, stack: Stack, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make up`, `why` and `make status` name the image, what is wrong with it, and how the job ends."""
    ends = f"kubectl -n {_NAMESPACE} delete jobset {run}"
    monkeypatch.setattr(watch, "_PULL_SECONDS", 2)
    with pytest.raises(UserError, match=rf"{run} cannot start: .* image nowhere.invalid/nothing:1 cannot .*{ends}"):
        watch.wait_for_start(kube, stack.outputs(), Step("jobs"))
    found = why.ask(kube, _NAMESPACE, run, {})
    assert (found.state, found.lines[-1].endswith(ends)) == ("stuck", True)
    assert "image nowhere.invalid/nothing:1 cannot be pulled: " in found.lines[0]
    console = Console(width=1000, file=io.StringIO())
    console.print(status.report(kube))
    assert isinstance(console.file, io.StringIO)
    assert "image nowhere.invalid/nothing:1 cannot be pulled: " in console.file.getvalue()


def test_a_failed_job_says_why_and_runs_again_only_when_asked(
    failing: OwnStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube, stack = failing.kube, failing.stack
    jobs = Running(kube, stack)
    ended = jobs.ended("broken")
    assert not ended.succeeded
    assert not ended.restarts, "the same error twice is enough"
    first, *said = failures.first_failure([*jobs.pods("broken").values()])
    assert f"exit code {failures.EXIT_NOT_RETRIED}: " in first
    assert said[-1].strip() == "ValueError: boom"
    unpulled = eventually(lambda: failures.cannot_start([*jobs.pods("unknown").values()]))
    assert ": image nowhere.invalid/nothing:1 cannot be pulled: " in unpulled
    assert "nowhere.invalid" in unpulled.rpartition("ImagePull")[2], "the kubelet's reason"
    _told_of_the_image(kube, stack, jobs.runs["unknown"], monkeypatch)

    with pytest.raises(UserError, match="ValueError: boom"):
        watch.raise_for_failed_jobs(kube, stack.outputs())
    path = jobs.path("broken")
    kube.delete(path)
    eventually(lambda: kube.get(path) is None)
    # Nothing changes, and it is told all the same.
    assert set(stack.up(Step("pulumi up"))) == {"same"}
    gone = rf"training job {jobs.runs['broken']}: its JobSet was deployed, but no longer exists in"
    with pytest.raises(UserError, match=gone):
        watch.raise_for_failed_jobs(kube, stack.outputs())

    # The two documented ways: the same run, and another one.
    stack._update(["up", "--refresh"], Step("pulumi up"))
    assert kube.get(path)
    assert Running(kube, stack).runs == jobs.runs
    failing.up(workloads={"broken": {**_BROKEN, "attempt": 2}, "unknown": _UNKNOWN})
    again = Running(kube, failing.stack).runs
    assert again["broken"] != jobs.runs["broken"]
    assert again["unknown"] == jobs.runs["unknown"]
