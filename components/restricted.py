"""What Pod Security `restricted` asks of pods, and the user that they all are."""

from typing import Any

import pulumi_kubernetes as k8s

USER = 65532
"""User and group of every container, and of what volumes hold: the one that distroless images call nonroot."""


def pod(user: int = USER) -> "k8s.core.v1.PodSecurityContextArgsDict":
    """A pod that runs as this user and group, whose volumes are the group's to read and write."""
    return {
        "run_as_non_root": True,
        "run_as_user": user,
        "run_as_group": user,
        "fs_group": user,
        "fs_group_change_policy": "OnRootMismatch",
        "seccomp_profile": {"type": "RuntimeDefault"},
    }


CONTAINER: "k8s.core.v1.SecurityContextArgsDict" = {
    "allow_privilege_escalation": False,
    "read_only_root_filesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


# The same in Kubernetes' own spelling, for manifests: pulumi-kubernetes' types take only its own.
def pod_manifest() -> dict[str, Any]:
    """As `pod`, in a manifest."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_manifest() -> dict[str, Any]:
    """As `CONTAINER`, in a manifest."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
