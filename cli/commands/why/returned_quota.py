"""A job that could not start and returned its quota (`quota_return`): why, how often, and when it is retried."""

from __future__ import annotations

from collections.abc import Iterator

from tensorplane.agents.quota_return.state import RETRY_AT, RETURN_REASON, times
from tensorplane.cli.api_values import moment
from tensorplane.cli.commands.why.answer import Answer, Observed
from tensorplane.cli.kueue.workloads import Work
from tensorplane.cli.output.numbers import ordinal
from tensorplane.core.times import age


def reason(work: Work) -> str:
    """Why it could not start; empty if it never returned its quota, or has run since."""
    return str(_annotations(work).get(RETURN_REASON, ""))


def sentence(observed: Observed, work: Work) -> str:
    """When, how often and why it returned its quota."""
    nth = ordinal(times(work.thing))
    return f"It returned its quota {observed.ago(work.evicted.since)}, the {nth} time: {reason(work)}."


def answer(observed: Observed, work: Work) -> Answer | None:
    """The answer for a job that holds no quota until it is retried; None for any other."""
    if work.active or not reason(work):
        return None
    conclusion = (
        f"{observed.name} has waited since {observed.ago(work.created)} and holds no quota of queue {work.queue}"
    )
    again = moment(_annotations(work).get(RETRY_AT))
    state = "waiting" if again else "stuck"
    return Answer(f"{conclusion}: {reason(work)}", state, tuple(_lines(observed, work)))


def _lines(observed: Observed, work: Work) -> Iterator[str]:
    yield sentence(observed, work)
    yield from observed.crossed_limits(work)
    again = moment(_annotations(work).get(RETRY_AT))
    if again:
        left = age(observed.now, again) if again > observed.now else "a moment"
        yield f"It is retried in {left}, at {again:%H:%M:%S} UTC."
        return
    yield "It is not retried automatically. When the cause is fixed, retry it with: " + (
        f"kubectl -n {work.namespace} patch workload {work.thing['metadata']['name']}"
        ' --type merge -p \'{"spec": {"active": true}}\''
    )


def _annotations(work: Work) -> dict[str, str]:
    return work.thing["metadata"].get("annotations") or {}
