"""What Argo's executor needs, which runs beside the containers of a Workflow's pods and reports their outputs.

It has a service account of its own. The token is in a Secret that only the executor's container mounts, so that the
stages' programs have no access to the API server.
"""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.controllers.argo_workflows import EXECUTOR_RULES
from tensorplane.workloads.pods.owner import Owner

_TOKEN = "{account}.service-account-token"  # noqa: S105  # the name by which Argo finds it


_JOB_SETS = {
    "apiGroups": ["jobset.x-k8s.io"],
    "resources": ["jobsets"],
    "verbs": ["create", "get", "list", "patch", "watch"],
}


def declare(owner: Owner, account: str, *, jobs: bool) -> list[pulumi.Resource]:
    """The service account with its token and rights. `jobs`: whether it also creates JobSets."""
    service_account = k8s.core.v1.ServiceAccount(
        account, metadata=owner.metadata(account), automount_service_account_token=False, opts=owner.child_options
    )
    token = k8s.core.v1.Secret(
        account,
        metadata=owner.metadata(
            _TOKEN.format(account=account), annotations={"kubernetes.io/service-account.name": account}
        ),
        type="kubernetes.io/service-account-token",
        opts=pulumi.ResourceOptions.merge(
            owner.child_options,
            # Kubernetes writes the token.
            pulumi.ResourceOptions(depends_on=[service_account], ignore_changes=["data"]),
        ),
    )
    rules: Any = [
        {"api_groups": each["apiGroups"], "resources": each["resources"], "verbs": each["verbs"]}
        for each in (*EXECUTOR_RULES, *([_JOB_SETS] if jobs else []))
    ]
    role = k8s.rbac.v1.Role(account, metadata=owner.metadata(account), rules=rules, opts=owner.child_options)
    binding = k8s.rbac.v1.RoleBinding(
        account,
        metadata=owner.metadata(account),
        role_ref={"api_group": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
        subjects=[{"kind": "ServiceAccount", "name": account, "namespace": owner.namespace.name}],
        opts=owner.child_options,
    )
    return [token, role, binding]
