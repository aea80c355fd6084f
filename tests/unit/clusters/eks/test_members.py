"""Members of teams on EKS: IAM principals get access entries with the groups of their teams."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.unit.clusters.eks.test_cluster import CPU, INSIDE, rendered

ROLE = "arn:aws:iam::123456789012:role/people/vision"
USER = "arn:aws:iam::123456789012:user/ada"
QUEUES = {"research": {"cpus": 1, "memoryGib": 1, "teams": ["speech", "vision"]}}


def _teams(**members: list[str]) -> dict[str, Any]:
    return {"queues": QUEUES, "teams": {"speech": {}, "vision": {}, **{t: {"members": m} for t, m in members.items()}}}


def _subjects(made: Any, team: str) -> list[tuple[str, str]]:
    binding = made.one("RoleBinding", f"{team}-members").inputs
    return [(one["kind"], one["name"]) for one in binding["subjects"]]


def test_each_principal_has_one_entry_with_the_groups_of_all_its_teams() -> None:
    made = rendered({}, _teams(vision=[f"user:{ROLE}", f"user:{USER}"], speech=[f"user:{ROLE}"]))
    entries = {one.inputs["principalArn"]: one.inputs for one in made.all("eks/accessEntry:AccessEntry")}
    assert {arn: one["kubernetesGroups"] for arn, one in entries.items()} == {
        ROLE: ["tensorplane-dev:speech", "tensorplane-dev:vision"],
        USER: ["tensorplane-dev:vision"],
    }
    assert {one["type"] for one in entries.values()} == {"STANDARD"}
    assert not made.all("eks/accessPolicyAssociation:AccessPolicyAssociation"), "RBAC alone gives them rights"
    assert _subjects(made, "vision") == [("Group", "tensorplane-dev:vision")]


def test_names_of_an_identity_provider_are_bound_as_they_are() -> None:
    made = rendered({}, _teams(vision=["group:oidc:vision", f"user:{USER}"], speech=["user:ada@example.com"]))
    assert _subjects(made, "vision") == [("Group", "oidc:vision"), ("Group", "tensorplane-dev:vision")]
    assert _subjects(made, "speech") == [("User", "ada@example.com")]
    assert len(made.all("eks/accessEntry:AccessEntry")) == 1


@pytest.mark.parametrize(
    ("member", "told"),
    [
        ("user:arn:aws:iam::123456789012:root", "is not an IAM role or user; use one such as user:arn:aws:iam::"),
        ("user:arn:aws:iam::1234:role/vision", "is not an IAM role or user; use one such as user:arn:aws:iam::"),
        ("group:arn:aws:iam::123456789012:group/vision", "is an IAM group, to which EKS gives no access; name a role"),
        ("user:arn:aws:iam::123456789012:group/vision", "is an IAM group, to which EKS gives no access; name a role"),
        (f"group:{ROLE}", f"is not an IAM role or user; use one such as user:arn:aws:iam::123456789012:role/vision "
         f"(did you mean user:{ROLE}?)"),
        ("user:arn:aws:sts::123456789012:assumed-role/vision/ada",
         "(did you mean user:arn:aws:iam::123456789012:role/vision?)"),
        ("user:arn:aws:iam::123456789012:role/platform", "is an administrator already (cluster.admins.us), and"),
        ("user:arn:aws:iam::123456789012:role/cluster-node-0a1b2c3", "is the role of the cluster's own nodes; name"),
    ],
)  # fmt: skip
def test_who_cannot_get_an_entry_is_one_fault(member: str, told: str) -> None:
    admins = {"us": "arn:aws:iam::123456789012:role/platform"}
    cluster = {"kind": "eks", "region": "us-west-2", "endpoint": INSIDE, "admins": admins}
    (line,) = problems_of({"cluster": cluster, "nodeGroups": {"cpu": CPU}, **_teams(vision=[member])})
    assert line.startswith("tensorplane:teams.vision.members.0: ")
    assert told in line


def test_a_namespace_whose_groups_are_reserved_is_a_fault() -> None:
    cluster = {"kind": "eks", "region": "us-west-2", "endpoint": INSIDE}
    tree = {"cluster": cluster, "nodeGroups": {"cpu": CPU}, "namespace": "system", **_teams(vision=[f"user:{ROLE}"])}
    assert problems_of(tree) == [
        "tensorplane:namespace: groups of teams' members begin with it, as Kubernetes' own do (system:masters); use "
        "another"
    ]
    tree["teams"]["vision"]["members"] = ["user:ada@example.com"]
    assert problems_of(tree) == []
