"""The JobSet of a job: one indexed Job per role, restarted as a gang or pod by pod."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorplane.components.base import names
from tensorplane.components.base.model import NAME_LIMIT
from tensorplane.workloads.training_job import tpu
from tensorplane.workloads.training_job.role import Role

_POD_SUFFIX_LENGTH = len("-abcde")
"""Of the suffix that a Job appends to pod names, which JobSet includes in its check."""
EXIT_SAVED = 75
"""Exit code of a pod that was asked to stop and can resume (the library's `stop.py`; sysexits.h)."""
EXIT_NOT_RETRIED = 78
"""Exit code of a pod whose command no restart would help (the library's `launch.py`; sysexits.h)."""


def longest_name(roles: Sequence[Role]) -> int:
    """Maximum length of a job's name, so that its pods' names are valid DNS labels."""
    longest = max(len(f"-{role.name}-0-{role.replicas - 1}") for role in roles)
    return NAME_LIMIT - 1 - names.HASH_LENGTH - longest - _POD_SUFFIX_LENGTH


def spec(
    run: str,
    roles: Sequence[Role],
    template_of: Callable[[Role], dict[str, Any]],
    *,
    max_restarts: int,
    deadline_seconds: int | None = None,
) -> dict[str, Any]:
    """The spec of a JobSet whose pods have the names in TF_CONFIG."""
    return {
        "network": {"enableDNSHostnames": True, "subdomain": run, "publishNotReadyAddresses": True},
        "successPolicy": {
            "operator": "All",
            "targetReplicatedJobs": [role.name for role in roles if role.required_for_success],
        },
        "failurePolicy": {
            "maxRestarts": max_restarts,
            # New workers start after the old ones have ended, because they have the same names.
            "restartStrategy": "BlockingRecreate",
            "rules": [
                *([_DEADLINE] if deadline_seconds else []),
                # Before the other rule, because both match a Job that its pod failure policy ended.
                {
                    "name": "sameFailure",
                    "action": "FailJobSet",
                    "onJobFailureReasons": ["PodFailurePolicy"],
                    "onJobFailureMessagePatterns": [f"exit code {EXIT_NOT_RETRIED} "],
                },
                {
                    "name": "disruption",
                    "action": "RestartJobSetAndIgnoreMaxRestarts",
                    "onJobFailureReasons": ["PodFailurePolicy"],
                },
            ],
        },
        # No ttlSecondsAfterFinished: `pulumi up --refresh` would recreate a run whose JobSet was deleted.
        "replicatedJobs": [_replicated_job(role, template_of(role), max_restarts, deadline_seconds) for role in roles],
    }


_DEADLINE = {"name": "deadline", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}


def _replicated_job(
    role: Role, template: dict[str, Any], max_restarts: int, deadline_seconds: int | None
) -> dict[str, Any]:
    return {
        "name": role.name,
        "replicas": 1,
        "template": {
            **({"metadata": {"annotations": found}} if (found := tpu.annotations(role)) else {}),
            "spec": {
                "parallelism": role.replicas,
                "completions": role.replicas,
                "completionMode": "Indexed",
                # Kubernetes counts from the start of the pods: a suspended Job waits without limit.
                **({"activeDeadlineSeconds": deadline_seconds} if deadline_seconds else {}),
                **(_GANG_RESTART_POLICY if role.restart == "gang" else _pod_restart_policy(max_restarts)),
                "template": template,
            },
        },
    }


_GANG_RESTART_POLICY: Mapping[str, Any] = {
    # The first failed pod fails its Job and so restarts the gang: TensorFlow's workers cannot continue alone.
    "backoffLimit": 0,
    # A lost node or an eviction does not count against the limit (see the rule above). An evicted pod notifies its
    # peers, which may end before it, with an exit code of their own. So does a pod that would fail the same way in
    # every restart; the rules above distinguish the codes.
    "podFailurePolicy": {
        "rules": [
            {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [EXIT_SAVED, EXIT_NOT_RETRIED]}},
        ]
    },
}


def _pod_restart_policy(max_restarts: int) -> dict[str, Any]:
    """A Job that replaces a failed pod with the same index and name, while the other pods continue."""
    return {
        "backoffLimitPerIndex": max_restarts,
        # A pod that keeps failing restarts the gang. By default, its Job would wait for the other pods, which may only
        # end with the run.
        "maxFailedIndexes": 0,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [EXIT_SAVED]}},
                {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [EXIT_NOT_RETRIED]}},
            ]
        },
    }
