"""`tensorplane why` and `tensorplane top` on the real Kueue: what they say is what happens."""

from __future__ import annotations

from cli.commands.top import rows
from cli.commands.why import query
from cli.commands.why.answer import Answer
from cli.kueue import facts as queue_facts
from cli.kueue import workloads
from tests.queues.jobs import Jobs, next_second, workers
from tests.support.waiting import eventually


def _why(jobs: Jobs, name: str) -> Answer:
    return query.ask(jobs.kube, jobs.stack, name, {})


def _verdict(jobs: Jobs) -> str:
    return _why(jobs, "vision/strange").verdict


def _top(jobs: Jobs) -> rows.Top:
    facts = queue_facts.gather(jobs.kube, jobs.stack)
    return rows.of(facts, workloads.works(facts))


def test_who_holds_what_a_job_waits_for_is_who_lets_it_in_by_ending(queues: Jobs) -> None:
    queues.create("holds", "serving", [workers(3, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "holds").state == "running")
    for name in ("first", "second"):
        queues.create(name, "serving", [workers(2, 4, card="h100-80gb")])
        eventually(lambda name=name: _why(queues, name).rows)  # type: ignore[misc]
        next_second()
    found = _why(queues, "second")
    assert found.lines == ("It is the 2nd of 2 in queue serving, behind first, which Kueue tries first.",)
    ((kind, resource, *counts, held),) = found.rows
    assert (kind, resource, counts) == ("h100-80gb", "GPUs", ["8", "0", "12"])
    assert held.startswith("holds 12 (queue serving, ")
    assert found.after[0] == "It can start when one of these ends: holds."
    top = _top(queues)
    assert [(one.running, one.waiting) for one in top.queues if one.name == "serving"] == [(1, 2)]
    assert [(one.used, one.guaranteed) for one in top.shares if one.queue == "serving"] == [(12, 12)]
    queues.delete("holds")
    eventually(lambda: _why(queues, "first").state == "running")
    assert _why(queues, "second").after[0] == "It can start when one of these ends: first."


def test_who_was_stopped_learns_for_whom(queues: Jobs) -> None:
    queues.create("borrows", "research", [workers(2, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "borrows").state == "running")
    assert (
        "It borrows h100-80gb: Kueue preempts it when jobs of the owning queue need them."
        in _why(queues, "borrows").lines
    )
    (lent,) = (one for one in _top(queues).shares if (one.queue, one.flavor) == ("production", "h100-80gb"))
    assert (lent.used, lent.lent) == (0, 8)
    queues.create("owns", "production", [workers(5, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "owns").state == "running")
    eventually(lambda: _why(queues, "borrows").state == "waiting")
    told = _why(queues, "borrows").lines[0]
    assert told.startswith("It was preempted at ")
    assert told.endswith(": owns of queue production reclaimed quota that is guaranteed to its queue.")


def test_a_job_that_nothing_ever_lets_in_is_told_so(queues: Jobs) -> None:
    queues.create("vast", "serving", [workers(4, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "vast").state == "stuck")
    assert _why(queues, "vast").verdict.startswith("vast can never start: 4 worker pods with 4 GPUs")
    queues.create("astray", "research", [workers(1, 1)], priority="none-such")
    eventually(lambda: _why(queues, "astray").state == "stuck")
    assert "WorkloadPriorityClass tensorplane-dev-none-such does not exist" in _why(queues, "astray").verdict
    queues.create("strange", "serving", [workers(1, 1)], namespace="vision")
    eventually(lambda: "namespace vision has no queue serving" in _verdict(queues))
