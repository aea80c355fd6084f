"""The security contexts of `pod_security` in the spelling that pulumi-kubernetes' types take."""

import pulumi_kubernetes as k8s

from components.base.pod_security import USER as USER


def pod(user: int = USER) -> "k8s.core.v1.PodSecurityContextArgsDict":
    """A pod with this user and group, whose volumes the group can read and write."""
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
