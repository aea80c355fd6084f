"""Members of teams: what they are named, what they may do, and what they know of the stack."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.components.volumes import teams
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.stack import ResolvedStack, team_settings
from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT, Rendered, settings_of

NFS = {"server": "nfs.example.org", "folder": "/exports/data"}


@pytest.fixture
def rendered() -> Rendered:
    return rendered_file(PROJECT / "examples" / "teams.yaml")


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


def test_the_account_of_sweeps_may_do_nothing_that_members_may_not(rendered: Rendered) -> None:
    def rights(role: str) -> set[tuple[str, str]]:
        rules = rendered.one("Role", role).inputs["rules"]
        return {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}

    of_account = rights("vision-tensorplane-sweep")
    assert of_account < rights("vision-members")
    assert ("jobsets", "create") in of_account
    (subject,) = rendered.one("RoleBinding", "vision-tensorplane-sweep").inputs["subjects"]
    assert (subject["name"], subject["namespace"]) == ("tensorplane-sweep", "vision")


def test_the_way_to_the_api_server_leads_to_private_addresses_alone(rendered: Rendered) -> None:
    spec = rendered.one("NetworkPolicy", "vision-tensorplane-sweep").inputs["spec"]
    assert spec["podSelector"]["matchLabels"] == {"app.kubernetes.io/component": "sweep"}
    (rule,) = spec["egress"]
    assert "10.0.0.0/8" in {each["ipBlock"]["cidr"] for each in rule["to"]}
    assert {each["port"] for each in rule["ports"]} == {443, 6443}


@pytest.mark.parametrize("member", ["ada", "group:", "user: ada", "group:system:masters", "role:x"])
def test_a_member_is_a_group_or_a_user_and_none_of_kubernetes_own(member: str) -> None:
    with pytest.raises(Exception, match=r"teams\.vision\.members\.0: .*group:NAME or user:NAME"):
        stack.load(_settings(members=[member]))


def test_the_published_settings_are_those_by_which_jobs_are_planned(rendered: Rendered) -> None:
    data = rendered.one("ConfigMap", f"vision-{team_settings.NAME}").inputs["data"]
    again = stack.load(Settings(json.loads(data[team_settings.SETTINGS])))
    original: ResolvedStack = stack.load(settings_of(PROJECT / "examples" / "teams.yaml"))
    assert (again.capacities, again.flavors, again.fleet) == (original.capacities, original.flavors, original.fleet)
    assert data[team_settings.TEAM] == "vision"


def test_encrypted_settings_are_not_published() -> None:
    resolved = stack.load(_settings())
    hidden = ResolvedStack.of(resolved.config, frozenset({("queues", "research", "cpus")}))
    assert "cpus" not in team_settings.tree(hidden, "vision")["queues"]["research"]
    assert "cpus" in team_settings.tree(resolved, "vision")["queues"]["research"]


def test_a_volume_of_the_team_leads_to_the_storage_of_the_stacks(rendered: Rendered) -> None:
    read, write = (rendered.one("PersistentVolume", f"{name}.vision").inputs["spec"] for name in ("datasets", "models"))
    assert (read["csi"]["volumeHandle"], read["csi"]["readOnly"], read["mountOptions"]) == (
        "tensorplane-dev-datasets-bound-handle",
        True,
        ["ro"],
    )
    assert (write["csi"]["readOnly"], write["accessModes"]) == (False, ["ReadWriteMany"])
    assert "mountOptions" not in write
    assert {each["persistentVolumeReclaimPolicy"] for each in (read, write)} == {"Retain"}
    claim = rendered.one("PersistentVolumeClaim", "datasets.vision").inputs
    assert (claim["metadata"]["namespace"], claim["spec"]["storageClassName"]) == ("vision", "")
    assert read["claimRef"]["namespace"] == "vision"


def test_the_team_holds_at_most_its_gpus_of_all_flavors(rendered: Rendered) -> None:
    hard = rendered.one("ResourceQuota", "vision-gpus").inputs["spec"]["hard"]
    assert hard == {"requests.nvidia.com/gpu": "6", "requests.google.com/tpu": "0"}


@pytest.mark.parametrize(
    ("team", "told"),
    [
        ({"gpus": 9}, r"teams\.vision\.gpus: is 9, but the queues of team vision offer 8; set 8 or less"),
        ({"volumes": {"dataset": "readOnly"}}, r"teams\.vision\.volumes\.dataset: no volume .*did you mean datasets"),
        ({"volumes": {"datasets": "write"}}, r"teams\.vision\.volumes\.datasets: .*readOnly"),
    ],
)
def test_what_a_team_cannot_have_is_a_fault(team: dict[str, Any], told: str) -> None:
    with pytest.raises(Exception, match=told):
        stack.load(_settings(**team))


@pytest.mark.parametrize(
    ("volume", "access", "told"),
    [
        ({"backend": {"kind": "efs"}}, "readOnly", r"on backend efs, which is not .*; use nfs"),
        ({"backend": {"kind": "nfs", **NFS}, "accessModes": ["ReadWriteOnce"]}, "readOnly", "is ReadWriteOnce, so"),
        ({"backend": {"kind": "nfs", **NFS}, "accessModes": ["ReadOnlyMany"]}, "readWrite", "; set readOnly"),
        ({"backend": {"kind": "nfs", **NFS}, "from": {"mirror": {}}}, "readWrite", "VolSync overwrites; set readOnly"),
    ],
)
def test_volumes_that_no_second_claim_can_lead_to(volume: dict[str, Any], access: str, told: str) -> None:
    cluster: Any = SimpleNamespace(kind="eks", storage_is_its_own=False, volume_backend="storageClass")
    declared = {"data": VolumeArgs.model_validate({"sizeGib": 1, **volume})}
    found = teams.find_problems({"vision": {"data": cast(Any, access)}}, declared, (), cluster)
    assert [re.search(told, str(each)) is not None for each in found] == [True]


def test_only_servers_that_the_team_can_publish_to_are_published() -> None:
    tree = team_settings.tree(stack.load(_settings()), "vision")
    assert (list(tree["workloads"]), list(tree["volumes"])) == (["digits"], ["datasets", "models"])
    fewer = team_settings.tree(stack.load(_settings(volumes={"models": "readOnly"})), "vision")
    assert ("workloads" in fewer, list(fewer["volumes"])) == (False, ["models"])


def test_members_ask_the_servers_to_which_they_publish_and_nothing_else(rendered: Rendered) -> None:
    role = rendered.one("Role", "vision-servers").inputs
    assert role["metadata"]["namespace"] != "vision", "the servers are in the stack's namespace"
    (rule,) = role["rules"]
    assert (rule["resources"], rule["resourceNames"]) == (["services/proxy"], ["http:digits:8501"])
    assert set(rule["verbs"]) == {"get", "create"}
    binding = rendered.one("RoleBinding", "vision-servers").inputs
    assert binding["subjects"] == rendered.one("RoleBinding", "vision-members").inputs["subjects"]
