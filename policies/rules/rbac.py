"""Rights in the cluster and in clouds: no wildcards, no owners."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN
from stack_view.rule import Config, Finding, Rule, Severity, of_each
from stack_view.view import Resource, View, at, known, maps

_GROUP = "rbac.authorization.k8s.io"
_ROLES = ((_GROUP, "Role"), (_GROUP, "ClusterRole"))
_BINDINGS = ((_GROUP, "RoleBinding"), (_GROUP, "ClusterRoleBinding"))
_WIDE_SUBJECTS = frozenset({"system:anonymous", "system:unauthenticated", "system:authenticated", "system:masters"})
_ESCALATING = frozenset({"escalate", "bind", "impersonate"})
_LISTS = ("verbs", "resources", "apiGroups", "nonResourceURLs")
_BASIC = ("roles/owner", "roles/editor", "roles/viewer")
_GCP = "gcp:projects/iAM"
_AWS = ("aws:iam/rolePolicy:RolePolicy", "aws:iam/policy:Policy", "aws:iam/userPolicy:UserPolicy")
_ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
_ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
_AZURE = "azure-native:authorization:RoleAssignment"
# Owner, and User Access Administrator.
_OWNERS = ("8e3af657-a8ff-443c-a75c-2fe8c4bcb635", "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9")


def _wildcards(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.manifest is None or resource.manifest.type not in _ROLES:
        return
    for index, one in enumerate(maps(resource.body, "rules")):
        for key in _LISTS:
            if "*" in (known(one, key) or ()):
                remedy = f"list the {key} that its holders use"
                yield Finding(f"`rules.{index}.{key}` is a wildcard, which also grants what is added later", remedy)
        for verb in sorted(_ESCALATING & set(known(one, "verbs") or ())):
            yield Finding(
                f"`rules.{index}.verbs` has {verb}, by which its holders get the rights of others", "remove it"
            )


def _bindings(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.manifest is None or resource.manifest.type not in _BINDINGS:
        return
    if known(resource.body, "roleRef", "name") == "cluster-admin":
        yield Finding("it grants cluster-admin", "bind a Role with the rights that its subjects use")
    for subject in maps(resource.body, "subjects"):
        if at(subject, "name") in _WIDE_SUBJECTS:
            yield Finding(f"it grants rights to {subject['name']}", "name the users, groups or service accounts")


def _cloud(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    remedy = "grant the permissions that its holders use, on the resources that they use"
    if resource.type in _AWS and _allows_all(at(resource.body, "policy")):
        yield Finding("it allows every action on every resource", remedy)
    if resource.type == _ATTACHMENT and at(resource.body, "policyArn") == _ADMINISTRATOR:
        yield Finding("it attaches AdministratorAccess", remedy)
    if resource.type.startswith(_GCP) and at(resource.body, "role") in _BASIC:
        yield Finding(f"{resource.body['role']} is a basic role, of all services of the project", remedy)
    if resource.type == _AZURE and str(at(resource.body, "roleDefinitionId")).endswith(_OWNERS):
        yield Finding("it makes its principal an owner, who can grant every right", remedy)


def _allows_all(policy: Any) -> bool:
    """Whether a policy document allows all actions on all resources. One that only the update knows is judged there."""
    if policy is UNKNOWN:
        return False
    document = json.loads(policy) if isinstance(policy, str) else policy or {}
    return any(_is_all(one) for one in maps(document, "Statement"))


def _is_all(statement: Mapping[str, Any]) -> bool:
    allowed = statement.get("Effect") == "Allow" and "Condition" not in statement
    return allowed and all("*" in _as_list(statement.get(key)) for key in ("Action", "Resource"))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


POLICIES = [
    Rule(
        of_each(_wildcards),
        name="rbac-wildcards",
        description="Roles name their verbs, resources and API groups, and let nobody take the rights of others.",
        remedy="List what the role's holders use.",
        severity=Severity.HIGH,
        tags=["rbac", "security"],
    ),
    Rule(
        of_each(_bindings),
        name="rbac-bindings",
        description="No binding grants cluster-admin, or anything to all users.",
        remedy="Bind a role with the needed rights to named subjects.",
        severity=Severity.CRITICAL,
        tags=["rbac", "security"],
    ),
    Rule(
        of_each(_cloud),
        name="cloud-rights",
        description="No identity in a cloud has all rights: no policy for all actions, no owner, no basic role.",
        remedy="Grant the permissions that are used.",
        severity=Severity.CRITICAL,
        tags=["iam", "security"],
    ),
]
