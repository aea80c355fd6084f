"""Members of teams on AKS: Entra's groups and users, bound by RBAC, with a role for who has an object id."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.unit.clusters.aks.test_cluster import CLUSTER, CPU

GROUP, GUEST = "6f1a2c7e-9f1d-4a55-8f0c-2b9d3c1e7a10", "0b5a4f3e-8d2c-4b1a-9f8e-7d6c5b4a3f2e"


def _tree(*members: str) -> dict[str, Any]:
    return {
        "cluster": CLUSTER,
        "nodeGroups": {"cpu": CPU},
        "queues": {"research": {"cpus": 1, "memoryGib": 1, "teams": ["vision", "speech"]}},
        "teams": {"vision": {"members": list(members)}, "speech": {"members": list(members[:1])}},
    }


def test_object_ids_get_the_role_of_users_on_the_cluster_once() -> None:
    tree = _tree(f"group:{GROUP}", f"user:{GUEST}", "user:ada@example.com")
    made = rendered_tree(tree)
    roles = {
        one.inputs["principalId"]: (one.inputs["scope"], one.inputs.get("principalType"))
        for one in made.all("RoleAssignment")
        if one.inputs["roleDefinitionId"].endswith("/4abbcc35-e782-43d8-92c5-2d3f1bd2253f")
    }
    assert roles == {GROUP: ("cluster-id", "Group"), GUEST: ("cluster-id", "User")}
    subjects = made.one("RoleBinding", "vision-members").inputs["subjects"]
    assert [(one["kind"], one["name"]) for one in subjects] == [
        ("Group", GROUP),
        ("User", GUEST),
        ("User", "ada@example.com"),
    ]


@pytest.mark.parametrize(
    ("member", "told"),
    [
        ("group:vision", "'vision' is not the object id of an Entra group; use one such as group:3f2504e0-"),
        ("group:vision@example.com", "'vision@example.com' is not the object id of an Entra group; use one such as"),
        ("user:ada", "'ada' is not the name of an Entra user; use one such as user:ada@example.com, or the object id"),
        (f"group:{GROUP.upper()}", f"is not in lower case, as Entra writes object ids; use group:{GROUP}"),
    ],
)
def test_who_entra_does_not_know_is_one_fault(member: str, told: str) -> None:
    lines = problems_of(_tree("user:bo@example.com", member))
    assert len(lines) == 1
    assert lines[0].startswith("tensorplane:teams.vision.members.1: ")
    assert told in lines[0]
