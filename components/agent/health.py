"""Where an agent says that it works, and what it means if it does not; without Pulumi."""

from collections.abc import Mapping

from tensorplane.agents.lease import RENEWED as RENEWED

_PREFIX = "agent."
FAILING_MINUTES = 5
"""Without a turn that ended well, after which an agent counts as failing in `status` and in alerts. The longest pause
between two turns is half a minute."""


def lease_name(agent: str) -> str:
    """The name of an agent's Lease. No object of a workload has it: their names hold no dot."""
    return f"{_PREFIX}{agent}"


OUTAGES: Mapping[str, str] = {
    "ceph_mirror": "the other site's copy of the volume stays as it is",
    "model_page": "the server's page does not answer; the server does",
    "lost_nodes": (
        "on a lost node, pods of training jobs, notebooks and pipelines are waited for until the node is back, deleted "
        "or tainted as out of service, and others are replaced after 5 minutes; a node that is back may keep the taint "
        "`tensorplane.dev/lost`. "
        "Nothing moves from a failing GPU, nor before a node's announced end unless the cloud drains it"
    ),
    "quota_return": (
        "quota of jobs that cannot start is returned after 20 minutes only, and a flavor whose nodes are gone still "
        "gets jobs; other jobs start as ever"
    ),
    "rollout": "no version is tried, promoted or rolled back; the server answers with the versions that it has",
    "snapshots": "no snapshots are taken, and expired ones are not deleted",
    "steps": "stages of runs wait: no part is planned, no result kept, no version committed; parts that run go on",
    "sweep": "no trial starts, is stopped early or counts as ended; trials that run go on",
    "topics": "new topics are not created; an update waits for it",
    "triggers": "no run starts by itself; `tensorplane runs start` does start one",
    "usage": "GPU-hours are counted once it works again, except those of jobs that are deleted before",
}
"""What is not done until an agent works again, and what goes on meanwhile, by its folder in `agents/`."""
