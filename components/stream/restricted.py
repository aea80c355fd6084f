"""What Pod Security `restricted` asks of the pods around a broker, in the words of pulumi-kubernetes."""

import pulumi_kubernetes as k8s

USER = 65532
"""User and group of every container."""

POD: k8s.core.v1.PodSecurityContextArgsDict = {
    "run_as_non_root": True,
    "run_as_user": USER,
    "run_as_group": USER,
    "fs_group": USER,
    "fs_group_change_policy": "OnRootMismatch",
    "seccomp_profile": {"type": "RuntimeDefault"},
}
CONTAINER: k8s.core.v1.SecurityContextArgsDict = {
    "allow_privilege_escalation": False,
    "read_only_root_filesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
