"""Security contexts for Pod Security level `restricted`, as manifests and for pulumi-kubernetes, and the user."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s

USER = 65532
"""User and group of every container and of files on volumes; `nonroot` in distroless images."""


def pod() -> dict[str, Any]:
    """The security context of a pod with this user and group, whose volumes the group can write to."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container() -> dict[str, Any]:
    """The security context of each of its containers."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def pod_args(user: int = USER) -> "k8s.core.v1.PodSecurityContextArgsDict":
    """A pod with this user and group, whose volumes the group can read and write."""
    return {
        "run_as_non_root": True,
        "run_as_user": user,
        "run_as_group": user,
        "fs_group": user,
        "fs_group_change_policy": "OnRootMismatch",
        "seccomp_profile": {"type": "RuntimeDefault"},
    }


CONTAINER_ARGS: "k8s.core.v1.SecurityContextArgsDict" = {
    "allow_privilege_escalation": False,
    "read_only_root_filesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
