"""Who is preempted for whom on the real Kueue, and that `tensorplane why` and `tensorplane top` tell it."""

from __future__ import annotations

from tensorplane.cli.commands.top import rows
from tensorplane.cli.commands.why import command as why_command
from tensorplane.cli.commands.why.answer import Answer
from tensorplane.cli.kueue import objects as queue_objects
from tensorplane.cli.kueue import workloads
from tests.queues.jobs import Jobs, chief, next_second, workers
from tests.support.waiting import eventually

CARD = "h100-80gb"
"""Queue research may borrow 8 of the 20 that are production's."""
_GIVEN = {"chief": "cpu", "worker": CARD}


def test_who_borrowed_last_gives_back_learns_for_whom_and_goes_on_afterwards(queues: Jobs) -> None:
    def states() -> dict[str, tuple[bool, int]]:
        return {name: (bool(job.given) and not job.moving, job.evictions) for name, job in queues.observed().items()}

    def why(name: str) -> Answer:
        return why_command.ask(queues.kube, queues.stack, name, {})

    def with_nodes() -> set[str]:
        return {role for name, role, _ in queues.landed() if name == "second"}

    for name in ("first", "second"):
        queues.admitted(name, "research", [chief(), workers(1, 4, card=CARD)])
        next_second()
    # To ask why is dear; it is asked once there is something to tell.
    eventually(lambda: with_nodes() == {"chief", "worker"})
    eventually(lambda: why("second").state == "running")
    assert f"It borrows {CARD}: Kueue preempts it when jobs of the owning queue need them." in why("second").lines
    facts = queue_objects.gather(queues.kube, queues.stack)
    shares = rows.of(facts, workloads.works(facts)).shares
    assert [(one.used, one.lent) for one in shares if (one.queue, one.flavor) == ("production", CARD)] == [(0, 8)]

    queues.create("owner", "production", [workers(4, 4, card=CARD)])
    eventually(lambda: states() == {"first": (True, 0), "second": (False, 1), "owner": (True, 0)})
    assert queues.observed()["first"].given == _GIVEN
    told = why("second").lines[0]
    assert told.startswith("It was preempted at ")
    assert told.endswith(": owner of queue production reclaimed quota that is guaranteed to its queue.")

    eventually(lambda: queues.finish("owner", 4))
    eventually(lambda: states() == {"first": (True, 0), "second": (True, 1)})
    assert queues.observed()["second"].given == _GIVEN
    eventually(lambda: with_nodes() == {"chief", "worker"})


def test_low_priority_looks_for_what_is_its_own_before_it_borrows(queues: Jobs) -> None:
    queues.admitted("old", "research", [workers(2, 4, card="t4")])
    queues.admitted("any", "research", [workers(1, 4)])
    assert queues.observed()["any"].given == {"worker": "a100-80gb"}
