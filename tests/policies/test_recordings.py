"""Each example and environment through the real engine: it passes, and the pack gets what its other tests judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policies import previews, recordings
from tests.policies.conftest import Judge
from tests.policies.record import FILES
from tests.policies.stacks import workload
from tests.support import goldens

ALWAYS = ("pipeline", "queues", "stack-prod")
"""Workloads, queues of teams, and a cloud whose cluster does not exist yet."""
NIGHTLY = pytest.mark.nightly("3 s of engine each; three stacks of different kinds by day")
STACKS = [name if name in ALWAYS else pytest.param(name, marks=NIGHTLY) for name in FILES]


def test_every_stack_is_recorded() -> None:
    assert {path.stem for path in recordings.FOLDER.glob("*.json")} == FILES.keys() == set(goldens.STACKS)


@pytest.mark.parametrize("name", STACKS)
def test_the_engine_sends_what_is_recorded_and_the_policies_pass(name: str, tmp_path: Path) -> None:
    found = previews.judged(tmp_path, FILES[name], previews.config_of_file(FILES[name]))
    assert found.passed, found.output
    sent = {(one["type"], one["name"]): one for one in recordings.of_engine(found.sent)}
    recorded = {(one["type"], one["name"]): one for one in recordings.stack(name)}
    different = [key for key in sent.keys() | recorded.keys() if sent.get(key) != recorded.get(key)]
    assert sorted(different) == [], recordings.AGAIN


@pytest.mark.parametrize(
    ("name", "group", "quota", "message"),
    [
        ("queues", "priority", {"low": 7}, "priority low requests 8 GPUs; its quota is 7 (search (TrainingJob): 8)"),
        (
            "pipeline",
            "priority",
            {"normal": 3},
            "priority normal requests 4 GPUs; its quota is 3 (photos (Pipeline): 4)",
        ),
        ("notebook", "priority", {"none": 8}, "priority normal requests 1 GPUs; its quota is 0 (desk (Notebook): 1)"),
        ("notebook", "accelerator", {"none": 8}, "accelerator l4 requests 1 GPUs; its quota is 0 (desk (Notebook): 1)"),
        (
            "pipeline",
            "accelerator",
            {"none": 8},
            "accelerator t4 requests 4 GPUs; its quota is 0 (photos (Pipeline): 4)",
        ),
        ("notebook", "namespace", {}, "namespace tensorplane-dev requests 1 GPUs; its quota is 0 (desk (Notebook): 1)"),
    ],
)
def test_a_quota_counts_for_the_group_that_the_engine_tells(
    judge: Judge, name: str, group: str, quota: dict[str, int], message: str
) -> None:
    rule, resources = f"gpu-quota-per-{group}", recordings.stack(name)
    (told,) = judge(rule, resources, {"maxGpus": {"another": 0, **quota}})[rule]
    assert told.startswith(message)
    assert judge(rule, resources, {"maxGpus": {message.split()[1]: 8}})[rule] == []


def test_a_component_of_a_test_has_no_property_that_the_engine_never_sends() -> None:
    with pytest.raises(AssertionError, match="Queue research registers no teams"):
        workload("Queue", "research", teams=["vision"])
