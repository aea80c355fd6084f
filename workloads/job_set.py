"""The JobSet of a training job, as plain data: one indexed Job per role, restarted as a gang."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workloads.tf_config import Role

_HASH_LENGTH = 8
_POD_SUFFIX = "-abcde"
"""What a Job appends to the names of its pods; JobSet counts it when it checks their length."""
NAME_LIMIT = 63


def longest_name(roles: Sequence[Role]) -> int:
    """How long a job's name may be, so that the names of its pods fit into a DNS label."""
    longest = max(len(f"-{role.name}-0-{role.replicas - 1}") for role in roles)
    return NAME_LIMIT - 1 - _HASH_LENGTH - longest - len(_POD_SUFFIX)


def named_by_content(name: str, build: Callable[[str], dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """A run's name and spec, from what makes a spec for a name.

    A changed job must be a new run: a JobSet's spec cannot change, and pods of an old run that still end would be taken
    for workers of the new one. So the name carries a hash of the spec.
    """
    text = json.dumps(build(name), sort_keys=True)
    run = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]}"
    return run, build(run)


def spec(
    run: str,
    roles: Sequence[Role],
    pod_of: Callable[[Role], dict[str, Any]],
    *,
    deciding: Sequence[str],
    labels: Mapping[str, str],
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
                {
                    "name": "disruption",
                    "action": "RestartJobSetAndIgnoreMaxRestarts",
                    "onJobFailureReasons": ["PodFailurePolicy"],
                }
            ],
        },
        # No ttlSecondsAfterFinished: a run that vanished would look undone to the next `pulumi up --refresh`.
        "replicatedJobs": [_replicated_job(role, pod_of(role), labels) for role in roles],
    }


def _replicated_job(role: Role, pod: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
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
                # A lost node or an eviction is nobody's error, and counts against no limit (see the rule above).
                "podFailurePolicy": {"rules": [{"action": "FailJob", "onPodConditions": [_DISRUPTED]}]},
                "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
            }
        },
    }


_DISRUPTED = {"type": "DisruptionTarget", "status": "True"}
