"""What a real Kueue 0.18 and scheduler said on a simulated fleet, cut to what the commands read.

`examples/queues.yaml` was deployed; low1 and low2 took T4 and A100, low3 and low4 borrowed A100 and H100 and were
stopped for high2 and high1. high3 and low5 wait, big is larger than anything. In `kueue_without_a_node` high2 was
deleted while its node took no pods, and queue research is on hold.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tensorplane.cli.commands.why.answer import Observed
from tensorplane.cli.kueue import quota_tree, workloads
from tensorplane.cli.kueue.objects import ClusterObjects, JobObjects

NOW = datetime(2026, 11, 21, 21, 54, 30, tzinfo=UTC)
_FOLDER = Path(__file__).parent


def recorded(name: str) -> tuple[ClusterObjects, dict[str, JobObjects]]:
    """One recording: everything, and what belongs to each job by the name of its JobSet."""
    told: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text())
    details = {job: JobObjects(each["pods"], (), job, each["order"]) for job, each in told.pop("details").items()}
    priorities = frozenset(told.pop("priorities"))
    return ClusterObjects("tensorplane-dev", priorities=priorities, **told), details


def observed(facts: ClusterObjects, details: dict[str, JobObjects], job: str) -> Observed:
    """The question why about one job."""
    job_set = next(one for one in facts.job_sets if one["metadata"]["name"] == job)
    works = workloads.works(facts)
    work = next((each for each in works if each.owner == job_set["metadata"]["uid"]), None)
    return Observed(job_set, work, works, facts, details[job], quota_tree.of(facts, works), NOW)
