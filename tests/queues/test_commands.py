"""`tensorplane why` and `tensorplane top` on the real Kueue: what they say is what happens."""

from __future__ import annotations

from cli import queue_facts, queue_work, top_rows, why
from cli.why_answer import Answer
from tests.cluster.conftest import eventually
from tests.queues.jobs import Jobs, next_second, workers

_SECONDS = 60


def _why(jobs: Jobs, name: str) -> Answer:
    return why.ask(jobs.kube, jobs.stack, name, {})


def _verdict(jobs: Jobs) -> str:
    return _why(jobs, "vision/strange").verdict


def _top(jobs: Jobs) -> top_rows.Top:
    facts = queue_facts.gather(jobs.kube, jobs.stack)
    return top_rows.of(facts, queue_work.works(facts))


def test_who_holds_what_a_job_waits_for_is_who_lets_it_in_by_ending(queues: Jobs) -> None:
    queues.create("holds", "serving", [workers(3, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "holds").state == "running", _SECONDS)
    for name in ("first", "second"):
        queues.create(name, "serving", [workers(2, 4, card="h100-80gb")])
        eventually(lambda name=name: _why(queues, name).rows, _SECONDS)  # type: ignore[misc]
        next_second()
    found = _why(queues, "second")
    assert found.lines == ("It is the 2nd of 2 in queue serving, behind first: they choose first.",)
    ((kind, resource, *counts, held),) = found.rows
    assert (kind, resource, counts) == ("h100-80gb", "GPUs", ["8", "0", "12"])
    assert held.startswith("holds 12 (queue serving, ")
    assert found.after[0] == "It fits when one of these ends: holds."
    top = _top(queues)
    assert [(one.running, one.waiting) for one in top.queues if one.name == "serving"] == [(1, 2)]
    assert [(one.used, one.quota) for one in top.shares if one.queue == "serving"] == [(12, 12)]
    queues.delete("holds")
    eventually(lambda: _why(queues, "first").state == "running", _SECONDS)
    assert _why(queues, "second").after[0] == "It fits when one of these ends: first."


def test_who_was_stopped_learns_for_whom(queues: Jobs) -> None:
    queues.create("borrows", "research", [workers(2, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "borrows").state == "running", _SECONDS)
    assert "It borrows h100-80gb: it is stopped when the owner's jobs need it." in _why(queues, "borrows").lines
    (lent,) = (one for one in _top(queues).shares if (one.queue, one.kind) == ("production", "h100-80gb"))
    assert (lent.used, lent.lent) == (0, 8)
    queues.create("owns", "production", [workers(5, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "owns").state == "running", _SECONDS)
    eventually(lambda: _why(queues, "borrows").state == "waiting", _SECONDS)
    told = _why(queues, "borrows").lines[0]
    assert told.startswith("It was stopped ")
    assert told.endswith(": owns of queue production took back what is its queue's.")


def test_a_job_that_nothing_ever_lets_in_is_told_so(queues: Jobs) -> None:
    queues.create("vast", "serving", [workers(4, 4, card="h100-80gb")])
    eventually(lambda: _why(queues, "vast").state == "stuck", _SECONDS)
    assert _why(queues, "vast").verdict.startswith("vast can never start: 4 worker pods with 4 GPUs")
    queues.create("astray", "research", [workers(1, 1)], namespace="vision", priority="none-such")
    eventually(lambda: _why(queues, "vision/astray").state == "stuck", _SECONDS)
    assert "WorkloadPriorityClass tensorplane-dev-none-such does not exist" in _why(queues, "vision/astray").verdict
    queues.create("strange", "serving", [workers(1, 1)], namespace="vision")
    eventually(lambda: "names queue serving, which namespace vision does not have" in _verdict(queues), _SECONDS)
