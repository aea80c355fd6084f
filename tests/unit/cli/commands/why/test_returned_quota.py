"""`tensorplane why` of a job that could not start and returned its quota."""

from __future__ import annotations

import pytest

from tensorplane.agents.quota_return.state import RETRY_AT, RETURN_COUNT, RETURN_REASON
from tensorplane.cli.commands.why import answer as why_answer
from tests.unit.cli.commands.why.test_why import WAITING, answer, changed

_REASON = "its pods are refused: exceeded quota: small"


def returned(*, active: bool, **annotations: str) -> why_answer.Answer:
    evicted = {"type": "Evicted", "status": "True", "reason": "Deactivated", "message": "The workload is deactivated"}
    facts = changed(WAITING, "low5", conditions=[{**evicted, "lastTransitionTime": "2026-11-21T21:54:00Z"}])
    for one in facts.workloads:
        if "low5" in one["metadata"]["name"]:
            one["spec"]["active"] = active
            one["metadata"]["annotations"] = {RETURN_REASON: _REASON, RETURN_COUNT: "2", **annotations}
    return answer("low5", facts)


def test_the_reason_and_the_next_retry_are_reported() -> None:
    found = returned(active=False, **{RETRY_AT: "2026-11-21T21:58:00Z"})
    assert found.state == "waiting"
    assert found.conclusion.endswith(f"and holds no quota of queue research: {_REASON}")
    assert found.lines == (
        f"It returned its quota 2026-11-21 21:54:00 UTC (30 s ago), the 2nd time: {_REASON}.",
        "It is retried in 3 min, at 21:58:00 UTC.",
    )


def test_one_that_is_given_up_is_tried_again_by_hand() -> None:
    found = returned(active=False)
    assert found.state == "stuck"
    assert "kubectl -n speech patch workload jobset-low5" in found.lines[-1]


@pytest.mark.parametrize("sentence", ["the 2nd time: its pods are refused", "of 4 in queue research"])
def test_one_that_waits_for_quota_again_says_both(sentence: str) -> None:
    found = returned(active=True)
    assert found.state == "waiting"
    assert sentence in " ".join(found.lines)
