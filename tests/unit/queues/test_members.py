"""Members of teams: what they are named, what they may do, and what they know of the stack."""

from __future__ import annotations

import json
from typing import Any

import pytest

import stack
from components.base.settings import Settings
from stack import ResolvedStack, published
from tests.support.rendering import PROJECT, Render, Rendered, settings_of


@pytest.fixture
def rendered(render: Render) -> Rendered:
    return render(lambda: stack.build(stack.load(settings_of(PROJECT / "examples" / "teams.yaml"))))


def _settings(**team: Any) -> Settings:
    tree = json.loads(json.dumps(settings_of(PROJECT / "examples" / "teams.yaml").tree))
    tree["teams"]["vision"] |= team
    return Settings(tree)


def test_members_are_bound_to_the_role_of_their_namespace(rendered: Rendered) -> None:
    binding = rendered.one("RoleBinding", "vision-members").inputs
    assert binding["metadata"]["namespace"] == "vision"
    assert [(each["kind"], each["name"]) for each in binding["subjects"]] == [
        ("Group", "vision@example.com"),
        ("User", "ada@example.com"),
        ("Group", f"{binding['subjects'][2]['name']}"),
    ]
    assert binding["subjects"][2]["name"].endswith(":vision"), "the group of `tensorplane kubeconfig --team`"


def test_they_may_create_job_sets_and_config_maps_alone(rendered: Rendered) -> None:
    rules = rendered.one("Role", "vision-members").inputs["rules"]
    created = {resource for rule in rules if "create" in rule["verbs"] for resource in rule["resources"]}
    assert created == {"jobsets", "configmaps"}


def test_pods_of_the_team_connect_to_each_other_alone(rendered: Rendered) -> None:
    spec = rendered.one("NetworkPolicy", "vision-team").inputs["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["ingress"] == [{"from": [{"podSelector": {}}]}]


@pytest.mark.parametrize("member", ["ada", "group:", "user: ada", "group:system:masters", "role:x"])
def test_a_member_is_a_group_or_a_user_and_none_of_kubernetes_own(member: str) -> None:
    with pytest.raises(Exception, match=r"teams\.vision\.members\.0: .*group:NAME or user:NAME"):
        stack.load(_settings(members=[member]))


def test_the_published_settings_are_those_by_which_jobs_are_planned(rendered: Rendered) -> None:
    data = rendered.one("ConfigMap", f"vision-{published.NAME}").inputs["data"]
    again = stack.load(Settings(json.loads(data[published.SETTINGS])))
    original: ResolvedStack = stack.load(settings_of(PROJECT / "examples" / "teams.yaml"))
    assert (again.rooms, again.flavors, again.fleet) == (original.rooms, original.flavors, original.fleet)
    assert data[published.TEAM] == "vision"


def test_encrypted_settings_are_not_published() -> None:
    resolved = stack.load(_settings())
    hidden = ResolvedStack.of(resolved.config, frozenset({("queues", "research", "cpus")}))
    assert "cpus" not in published.tree(hidden)["queues"]["research"]
    assert "cpus" in published.tree(resolved)["queues"]["research"]
