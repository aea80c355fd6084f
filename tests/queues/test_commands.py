"""`tensorplane why` and `tensorplane top` on the real Kueue: what they say is what happens."""

from __future__ import annotations

import pytest

from tensorplane.cli.commands.top import rows
from tensorplane.cli.commands.why import command as why
from tensorplane.cli.commands.why.answer import Answer
from tensorplane.cli.kueue import objects as queue_objects
from tensorplane.cli.kueue import workloads
from tests.queues.jobs import Jobs, next_second, workers
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("told by recorded answers of tests/unit/cli/commands/why")


def _why(jobs: Jobs, name: str) -> Answer:
    return why.ask(jobs.kube, jobs.stack, name, {})


def _conclusion(jobs: Jobs) -> str:
    return _why(jobs, "vision/strange").conclusion


def _top(jobs: Jobs) -> rows.Top:
    facts = queue_objects.gather(jobs.kube, jobs.stack)
    return rows.of(facts, workloads.works(facts))


def test_who_holds_what_a_job_waits_for_is_who_lets_it_in_by_ending(queues: Jobs) -> None:
    queues.create("holds", "serving", [workers(3, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "holds").state == "running")
    for name in ("first", "second"):
        next_second()
        queues.create(name, "serving", [workers(2, 4, card="h100-80gb")])
        eventually(lambda: name in queues.observed())  # noqa: B023
    in_line = ("It is the 2nd of 2 in queue serving, behind first, which Kueue tries first.",)
    found = eventually(lambda: (told := _why(queues, "second")).lines == in_line and told) or Answer("", "")
    ((kind, resource, *counts, held),) = found.rows
    assert (kind, resource, counts) == ("h100-80gb", "GPUs", ["8", "0", "12"])
    assert held.startswith("holds 12 (queue serving, ")
    assert found.after[0] == "It can start when one of these ends: holds."
    top = _top(queues)
    assert [(one.running, one.waiting) for one in top.queues if one.name == "serving"] == [(1, 2)]
    assert [(one.used, one.guaranteed) for one in top.shares if one.queue == "serving"] == [(12, 12)]
    queues.delete("holds")
    eventually(lambda: _why(queues, "first").state == "running")
    ends = "It can start when one of these ends: first."
    eventually(lambda: _why(queues, "second").after[:1] == (ends,))


def test_a_job_that_nothing_ever_lets_in_is_told_so(queues: Jobs) -> None:
    queues.create("vast", "serving", [workers(4, 4, card="h100-80gb")])
    told = "vast can never start: 4 worker pods with 4 GPUs"
    # Of a job that Kueue does not know yet, something else is told.
    eventually(lambda: _why(queues, "vast").conclusion.startswith(told))
    assert _why(queues, "vast").state == "stuck"
    queues.create("astray", "research", [workers(1, 1)], priority="none-such")
    found = _why(queues, "astray")
    assert found.state == "stuck"
    assert "WorkloadPriorityClass tensorplane-dev-none-such does not exist" in found.conclusion
    queues.create("strange", "serving", [workers(1, 1)], namespace="vision")
    eventually(lambda: "namespace vision has no queue serving" in _conclusion(queues))
