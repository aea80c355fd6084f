"""What a preview says of changes that restart or replace more than the resource that they are told of."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.report import Change, Property, Report
from tensorplane.cli.commands.preview.sections import effects

TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"
ROLLED = "its nodes are replaced one by one, and their pods restart"


def changed(
    kind: str, path: str, old: str = "1", new: str = "2", *, replaces: bool = False, name: str = "gpu"
) -> Change:
    """A resource of which one property changes."""
    return Change("replace" if replaces else "update", kind, name, (Property(path, old, new, replaces),))


def test_another_disk_of_a_group_on_eks_replaces_its_nodes() -> None:
    path = "blockDeviceMappings[0].ebs.volumeSize"
    assert effects.of([changed(TEMPLATE, path)]) == (f"LaunchTemplate gpu: {ROLLED}",)


def test_a_queue_that_goes_waits_for_the_jobs_that_run_in_it() -> None:
    queue = Change("delete", "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", "tensorplane-dev-training")
    (line,) = effects.of([queue, Change("delete", "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue", "training")])
    assert line.startswith("queue tensorplane-dev-training is deleted after its running jobs end")
    assert line.endswith("To see whose they are, run: make top")
    (line,) = effects.of([queue], "prod")
    assert line.endswith("To see whose they are, run: make top STACK=prod")


@pytest.mark.parametrize(
    ("operations", "says"),
    [
        (["create"], "Kueue now places pods with GPUs by node: the stack's jobs in queues restart"),
        (["delete"], "Kueue no longer places pods with GPUs by node"),
        (["create", "delete"], "Kueue now places pods with GPUs by other network levels"),
    ],
)
def test_jobs_that_restart_because_groups_become_elastic_or_fixed_are_named(operations: list[str], says: str) -> None:
    kueue = "kubernetes:kueue.x-k8s.io/v1beta2"
    levels = [Change(operation, f"{kueue}:Topology", "near") for operation in operations]
    (line,) = effects.of([changed(f"{kueue}:ClusterQueue", "spec.resourceGroups"), *levels])
    assert line.startswith(says)
    assert effects.of([Change("create", f"{kueue}:ClusterQueue", "gpu"), *levels]) == (), "a stack that is new"


@pytest.mark.parametrize("path", ["tags.team", "tagsAll.team", "description"])
def test_tags_of_a_launch_template_restart_nothing(path: str) -> None:
    assert effects.of([changed(TEMPLATE, path)]) == ()


def test_a_group_that_moves_is_replaced_unless_its_zones_are_set() -> None:
    (line,) = effects.of([changed(GROUP, "subnetIds[0]", replaces=True)])
    assert line == (
        "node group gpu is replaced (because of subnetIds): the new group is created first; then all nodes of the old "
        "one are deleted, and their pods stop; set its zones in nodeGroups to keep it"
    )


def test_a_pool_on_aks_keeps_its_zones_if_the_settings_name_them() -> None:
    kind = "azure-native:containerservice:AgentPool"
    (line,) = effects.of([changed(kind, "availabilityZones[0]", "1", "", replaces=True)])
    assert line == (
        "node group gpu is replaced (because of availabilityZones): all of its nodes are deleted, and their pods stop; "
        "only then is the new group created; set its zones in nodeGroups to keep it"
    )


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("gcp:container/nodePool:NodePool", "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig"),
        ("azure-native:containerservice:AgentPool", "gpuProfile.driver"),
    ],
)
def test_a_replaced_pool_names_the_property_that_replaces_it(kind: str, path: str) -> None:
    (line,) = effects.of([changed(kind, path, replaces=True)])
    assert line.startswith("node group gpu is replaced")
    assert f"(because of {path})" in line


def test_a_version_without_pins_leaves_add_ons_at_their_builds() -> None:
    upgrade = changed("aws:eks/cluster:Cluster", "version", "1.35", "1.36", name="cluster")
    addon = changed("aws:eks/addon:Addon", "addonVersion", "v1.14.3-eksbuild.3", "", name="cluster-coredns")
    says = "keeps its version: none is pinned for this Kubernetes version; set one in cluster.addons"
    assert effects.of([upgrade, addon]) == (f"Addon cluster-coredns: {says}",)
    (line,) = effects.of([upgrade])
    assert line.startswith("Cluster cluster: the add-ons keep their versions")
    pinned = changed("aws:eks/addon:Addon", "addonVersion", "v1.14.3-eksbuild.3", "v1.15.0-eksbuild.1")
    assert effects.of([upgrade, pinned]) == ()


def test_a_version_on_aks_empties_spot_pools_without_waiting() -> None:
    (line,) = effects.of([changed("azure-native:containerservice:AgentPool", "orchestratorVersion")])
    assert "spot pool are drained without waiting" in line


def test_a_version_on_aks_replaces_the_nodes_of_the_system_group_too() -> None:
    path = "agentPoolProfiles[0].orchestratorVersion"
    (line,) = effects.of([changed("azure-native:containerservice:ManagedCluster", path, name="cluster")])
    says = "the nodes of its system group are replaced one by one, and their pods restart"
    assert line == f"ManagedCluster cluster: {says}"


def test_a_zone_that_goes_takes_its_nodes_along_on_gke() -> None:
    (line,) = effects.of([changed("gcp:container/nodePool:NodePool", "nodeLocations[2]", "us-central1-c", "")])
    says = "nodes in removed zones are deleted, and their pods restart elsewhere"
    assert line == f"NodePool gpu: {says}"


def test_what_comes_or_goes_as_a_whole_restarts_nothing_else() -> None:
    assert effects.of([Change("create", GROUP, "gpu"), Change("delete", TEMPLATE, "gpu")]) == ()


def test_reports_say_it_where_there_is_something_to_say() -> None:
    report = Report("prod", changes=(changed(GROUP, "version", "1.34", "1.35"),))
    assert f"## What restarts\n\n- NodeGroup gpu: {ROLLED}\n" in render.markdown(report)
    assert "What restarts" not in render.markdown(Report("prod"))
    output = io.StringIO()
    Console(file=output, width=200).print(render.terminal(report, 200))
    assert f"note: NodeGroup gpu: {ROLLED}" in output.getvalue()
