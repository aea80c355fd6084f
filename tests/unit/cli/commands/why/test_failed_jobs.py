"""`why` about a job that failed, or that nothing ends: the reason, and how to run it again."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tensorplane.cli.commands.why import command as why
from tensorplane.cli.commands.why import reasons
from tensorplane.cli.commands.why.answer import Observed
from tensorplane.cli.kueue.objects import ClusterObjects, JobObjects
from tensorplane.cli.kueue.quota_tree import QuotaTree
from tensorplane.core.kube import Kube
from tensorplane.workloads.pods.mounts import Mountable
from tests.support.failed_jobs import NOW, RUN, TRACEBACK, UNPULLED, Cluster, exited, job_set_of, pod_of, unpulled
from tests.support.planned_jobs import job_context, planned


def test_why_tells_the_reason_and_how_to_run_it_again() -> None:
    facts = ClusterObjects("ml")
    asked = Observed(
        job_set_of("Failed", restarts=3, restartsCountTowardsMax=1),
        None,
        (),
        facts,
        JobObjects([pod_of(**exited(1, TRACEBACK))]),
        QuotaTree({}, {}, ()),
        NOW,
    )
    found = reasons.answer(asked)
    assert found.state == "failed"
    assert found.lines[0] == f"{RUN}-worker-0-0: exit code 1"
    assert found.lines[3] == "  ValueError: boom"
    assert found.lines[4] == "It was restarted 3 times (1 counts against maxRestarts)."
    assert found.lines[5] == (
        "Correct the cause, then deploy with: pulumi up. A changed command or file starts a new run; for a new run "
        "with the same settings, raise `attempt` of the job. (docs/training.md#run-a-job-again)"
    ), "it has no checkpoints to continue from"


@pytest.mark.parametrize(("stack", "deploy"), [("dev", "make up"), ("prod", "make up STACK=prod")])
def test_a_failed_job_is_run_again_by_its_own_stack(stack: str, deploy: str) -> None:
    found = why.ask(_failed(), "ml", "digits", {}, stack=stack)
    assert f" deploy with: {deploy}. " in found.lines[-1]


def test_a_teams_failed_job_is_no_stacks_to_run_again() -> None:
    found = why.ask(_failed(), "another", f"ml/{RUN}", {})
    assert found.lines[-1] == "The settings do not declare it; its owner can delete the JobSet and create it again."


def _failed() -> Kube:
    class Bare(Cluster):
        def items(self, path: str, **_: str) -> list[dict[str, Any]]:
            return [job_set_of("Failed")] if path.endswith("jobsets") else [failed] if path.endswith("pods") else []

    failed = pod_of(**exited(1, TRACEBACK))
    return cast(Kube, Bare({}, []))


def test_why_needs_no_kueue() -> None:
    found = why.ask(_failed(), "ml", "digits", {})
    assert (found.state, found.lines[3]) == ("failed", "  ValueError: boom")


def test_why_tells_what_nothing_ends() -> None:
    asked = Observed(job_set_of(), None, (), ClusterObjects("ml"), JobObjects([unpulled()]), QuotaTree({}, {}, ()), NOW)
    found = reasons.answer(asked)
    assert (found.state, found.conclusion) == ("stuck", f"{RUN} cannot start, and without a queue nothing stops it")
    told, remedy = found.lines
    assert told == f"Its pod has a node but does not run: {UNPULLED.partition(': ')[2]}."
    assert remedy.endswith(f"kubectl -n ml delete jobset {RUN}")


def test_why_tells_that_a_job_without_a_queue_runs_and_how_often_it_was_restarted() -> None:
    running = pod_of()
    running["spec"] = {"nodeName": "node"}
    running["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    asked = Observed(
        job_set_of(restarts=1), None, (), ClusterObjects("ml"), JobObjects([running]), QuotaTree({}, {}, ()), NOW
    )
    found = reasons.answer(asked)
    assert (found.state, found.conclusion) == ("running", f"{RUN} runs, in no queue")
    assert found.lines == ("It was restarted 1 time (0 count against maxRestarts).",)


def test_why_of_a_restarted_job_says_where_the_lines_of_its_former_pods_are() -> None:
    kept = planned(
        job_context(volumes={"models": Mountable("models-claim", "/models")}),
        volumes={"models": None},
        checkpoints={"volume": "models"},
    ).job_set
    asked = Observed(
        {**kept, "status": {"restarts": 2}}, None, (), ClusterObjects("ml"), JobObjects([]), QuotaTree({}, {}, ()), NOW
    )
    assert reasons.answer(asked).lines[-2:] == (
        "It was restarted 2 times (0 count against maxRestarts).",
        "How the start before ended: tensorplane logs trial-7 --previous.",
    )
