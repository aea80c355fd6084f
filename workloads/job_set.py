"""The JobSet of a training job, as plain data: one indexed Job per role, restarted as a gang."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from components.model import NAME_LIMIT
from workloads.tf_config import Role

_HASH_LENGTH = 8
_POD_SUFFIX = "-abcde"
"""What a Job appends to the names of its pods; JobSet counts it when it checks their length."""
EXIT_SAVED = 75
"""Exit code of a pod that was asked to stop and can go on from its checkpoint (`runtime/stop.py`; sysexits.h)."""
EXIT_SAME = 78
"""Exit code of a pod that failed twice in the same way before its first step (`runtime/launch.py`; sysexits.h)."""


def longest_name(roles: Sequence[Role]) -> int:
    """How long a job's name may be, so that the names of its pods fit into a DNS label."""
    longest = max(len(f"-{role.name}-0-{role.replicas - 1}") for role in roles)
    return NAME_LIMIT - 1 - _HASH_LENGTH - longest - len(_POD_SUFFIX)


def named_by_content(
    name: str, build: Callable[[str], dict[str, Any]], marks: Mapping[str, str]
) -> tuple[str, dict[str, Any]]:
    """A run's name and spec, from what makes a spec for a name.

    A changed job must be a new run: a JobSet's spec cannot change, nor can, once Kueue has admitted it, the `marks` of
    its queue; and pods of an old run that still end would be taken for workers of the new one. So the name carries a
    hash of both.
    """
    text = json.dumps([build(name), dict(marks)], sort_keys=True)
    run = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]}"
    return run, build(run)


def spec(
    run: str,
    roles: Sequence[Role],
    template_of: Callable[[Role], dict[str, Any]],
    *,
    deciding: Sequence[str],
    max_restarts: int,
) -> dict[str, Any]:
    """The spec of a JobSet whose pods find each other under the names that TF_CONFIG holds."""
    return {
        "network": {"enableDNSHostnames": True, "subdomain": run, "publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": list(deciding)},
        "failurePolicy": {
            "maxRestarts": max_restarts,
            # New workers start when the old ones are gone: they would meet them under the same names.
            "restartStrategy": "BlockingRecreate",
            "rules": [
                # Before the other rule: both see a Job that its pod failure policy ended.
                {
                    "name": "sameFailure",
                    "action": "FailJobSet",
                    "onJobFailureReasons": ["PodFailurePolicy"],
                    "onJobFailureMessagePatterns": [f"exit code {EXIT_SAME} "],
                },
                {
                    "name": "disruption",
                    "action": "RestartJobSetAndIgnoreMaxRestarts",
                    "onJobFailureReasons": ["PodFailurePolicy"],
                },
            ],
        },
        # No ttlSecondsAfterFinished: a run that vanished would look undone to the next `pulumi up --refresh`.
        "replicatedJobs": [_replicated_job(role, template_of(role)) for role in roles],
    }


def _replicated_job(role: Role, template: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": role.name,
        "replicas": 1,
        "template": {
            "spec": {
                "parallelism": role.replicas,
                "completions": role.replicas,
                "completionMode": "Indexed",
                # The first failed pod fails its Job, and so restarts the gang: TensorFlow's peers cannot go on alone.
                "backoffLimit": 0,
                # A lost node or an eviction is nobody's error, and counts against no limit (see the rule above). Who
                # is evicted tells its peers, and they may be gone before it is: they end with a code of their own. So
                # does who would fail the same way in every restart; the rules above tell the codes apart.
                "podFailurePolicy": {
                    "rules": [
                        {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [EXIT_SAVED, EXIT_SAME]}},
                    ]
                },
                "template": template,
            }
        },
    }
