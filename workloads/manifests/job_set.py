"""The JobSet of a job: one indexed Job per role, restarted as a gang or pod by pod."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from components.base import names
from components.base.model import NAME_LIMIT
from workloads.role import Role

_POD_SUFFIX = "-abcde"
"""What a Job appends to the names of its pods; JobSet counts it when it checks their length."""
EXIT_SAVED = 75
"""Exit code of a pod that was asked to stop and can go on from its checkpoint (the library's `stop.py`; sysexits.h)."""
EXIT_SAME = 78
"""Exit code of a pod whose command ended twice alike soon after its start (the library's `launch.py`; sysexits.h)."""


def longest_name(roles: Sequence[Role]) -> int:
    """How long a job's name may be, so that the names of its pods fit into a DNS label."""
    longest = max(len(f"-{role.name}-0-{role.replicas - 1}") for role in roles)
    return NAME_LIMIT - 1 - names.LENGTH - longest - len(_POD_SUFFIX)


def spec(
    run: str,
    roles: Sequence[Role],
    template_of: Callable[[Role], dict[str, Any]],
    *,
    max_restarts: int,
) -> dict[str, Any]:
    """The spec of a JobSet whose pods find each other under the names that TF_CONFIG holds."""
    return {
        "network": {"enableDNSHostnames": True, "subdomain": run, "publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": [role.name for role in roles if role.decides]},
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
        "replicatedJobs": [_replicated_job(role, template_of(role), max_restarts) for role in roles],
    }


def _replicated_job(role: Role, template: dict[str, Any], max_restarts: int) -> dict[str, Any]:
    return {
        "name": role.name,
        "replicas": 1,
        "template": {
            "spec": {
                "parallelism": role.replicas,
                "completions": role.replicas,
                "completionMode": "Indexed",
                **(_RESTART_GANG if role.restart == "gang" else _restart_pod(max_restarts)),
                "template": template,
            }
        },
    }


_RESTART_GANG: Mapping[str, Any] = {
    # The first failed pod fails its Job, and so restarts the gang: TensorFlow's peers cannot go on alone.
    "backoffLimit": 0,
    # A lost node or an eviction is nobody's error, and counts against no limit (see the rule above). Who is evicted
    # tells its peers, and they may be gone before it is: they end with a code of their own. So does who would fail the
    # same way in every restart; the rules above tell the codes apart.
    "podFailurePolicy": {
        "rules": [
            {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [EXIT_SAVED, EXIT_SAME]}},
        ]
    },
}


def _restart_pod(max_restarts: int) -> dict[str, Any]:
    """A failed pod is replaced under its index, and so under its name; the other pods go on."""
    return {
        "backoffLimitPerIndex": max_restarts,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [EXIT_SAVED]}},
                {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [EXIT_SAME]}},
            ]
        },
    }
