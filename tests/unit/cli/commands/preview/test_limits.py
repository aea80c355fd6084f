"""Quotas of queues in the words of a review."""

from __future__ import annotations

from tensorplane.cli.commands.preview import limits
from tensorplane.cli.commands.preview.report import Change, Property, Report
from tensorplane.cli.output.escaping import line as shown

QUEUE = "kueue.x-k8s.io/v1beta2:ClusterQueue"
QUOTA = 'spec.resourceGroups[0].flavors["tensorplane-prod-t4"].resources["{}"].nominalQuota'


def _lines(*properties: Property) -> list[str]:
    change = Change("update", QUEUE, "tensorplane-prod-research", properties)
    return list(
        map(
            shown,
            limits.lines(Report("prod", (change,), components={"tensorplane:index:Queue": {"research": ({}, {})}})),
        )
    )


def test_cores_and_memory_that_a_quota_gains_with_its_gpus_are_named() -> None:
    assert _lines(
        Property(QUOTA.format("cpu"), '"576"', '"768"', False),
        Property(QUOTA.format("memory"), '"6144Gi"', '"8192Gi"', False),
        Property(QUOTA.format("nvidia.com/gpu"), '"24"', '"32"', False),
    ) == ["queue **research**: on t4 nodes, guaranteed cpu 576 → 768, memory 6144Gi → 8192Gi"]


def test_other_changes_of_a_queue_are_not_named() -> None:
    assert _lines(Property("spec.cohortName", '"a"', '"b"', False)) == []
