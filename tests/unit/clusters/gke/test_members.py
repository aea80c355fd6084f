"""Members of teams on GKE: Google's groups and users find the cluster by IAM, and RBAC binds them by e-mail address."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.unit.clusters.gke.built import CPU, cluster, problems, rendered

POOL = "//iam.googleapis.com/locations/global/workforcePools/acme"


def _tree(members: dict[str, list[str]], **more: Any) -> dict[str, Any]:
    return {
        "cluster": {"kind": "gke", "project": "acme-ml", "region": "us-central1", **more},
        "nodeGroups": {"cpu": dict(CPU)},
        "queues": {"research": {"cpus": 1, "memoryGib": 1, "teams": list(members)}},
        "teams": {team: {"members": listed} for team, listed in members.items()},
    }


def _built(members: dict[str, list[str]]) -> Rendered:
    tree = _tree(members, groupsDomain="example.com")
    return rendered_tree(tree)


def test_each_member_may_find_the_cluster_and_connect_to_it() -> None:
    shared = ["group:vision@example.com", "user:ada@example.com"]
    others = ["user:ci@acme-ml.iam.gserviceaccount.com", f"user:principal:{POOL}/subject/ada"]
    made = _built({"vision": [*shared, *others], "speech": shared})
    viewers = [
        one.inputs["member"]
        for one in made.all("projects/iAMMember:IAMMember")
        if one.inputs["role"] == "roles/container.clusterViewer"
    ]
    assert sorted(viewers) == [
        "group:vision@example.com",
        f"principal:{POOL}/subject/ada",
        "serviceAccount:ci@acme-ml.iam.gserviceaccount.com",
        "user:ada@example.com",
    ]
    subjects = made.one("RoleBinding", "speech-members").inputs["subjects"]
    assert [(one["kind"], one["name"]) for one in subjects] == [
        ("Group", "vision@example.com"),
        ("User", "ada@example.com"),
    ]


def test_groups_are_looked_up_in_their_domain_alone() -> None:
    made = rendered({"cpu": CPU}, groupsDomain="example.com").one("container/cluster:Cluster", "cluster")
    assert made.inputs["authenticatorGroupsConfig"] == {"securityGroup": "gke-security-groups@example.com"}
    plain = rendered({"cpu": CPU}).one("container/cluster:Cluster", "cluster")
    assert "authenticatorGroupsConfig" not in plain.inputs


@pytest.mark.parametrize(
    ("members", "told"),
    [
        (["group:vision"], ["teams.vision.members.0: 'vision' is not an e-mail address in lower case"]),
        (["user:Ada@example.com"], ["(did you mean user:ada@example.com?)"]),
        (["group:vision@other.org"], ["vision@other.org is not a group of example.com, the only domain in which"]),
        (["group:principal:" + POOL], ["is not an e-mail address"]),
        (["group:a", "group:b@other.org", "user:c"], ["members.0: ", "members.1: ", "members.2: "]),
    ],
)
def test_who_gke_does_not_know_is_a_fault(members: list[str], told: list[str]) -> None:
    lines = problems_of(_tree({"vision": members}, groupsDomain="example.com"))
    assert [part in line for part, line in zip(told, sorted(lines), strict=True)] == [True] * len(told)


def test_groups_require_their_domain_once() -> None:
    assert problems_of(_tree({"vision": ["group:vision@example.com", "group:more@example.com"]})) == [
        "tensorplane:cluster.groupsDomain: missing, but GKE looks up groups such as vision@example.com only in the "
        "domain that it names; set example.com, and add the groups to gke-security-groups@example.com"
    ]


def test_a_domain_is_no_group() -> None:
    assert cluster(groupsDomain="example.com").groups_domain == "example.com"
    assert problems(groupsDomain="gke-security-groups@Example.com") == [
        "tensorplane:cluster.groupsDomain: 'gke-security-groups@Example.com' is not a domain; use one such as "
        "example.com (did you mean example.com?)"
    ]
