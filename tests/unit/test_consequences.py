"""What a preview says of changes that restart or replace more than the resource that they are told of."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cli import consequences, markdown, table
from cli.report import Change, Property, Report

TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"
ROLLED = "its nodes are replaced one after another, and what runs on them restarts"


def changed(
    kind: str, path: str, old: str = "1", new: str = "2", *, replaces: bool = False, name: str = "gpu"
) -> Change:
    """A resource of which one property changes."""
    return Change("replace" if replaces else "update", kind, name, (Property(path, old, new, replaces),))


def test_another_disk_of_a_group_on_eks_replaces_its_nodes() -> None:
    path = "blockDeviceMappings[0].ebs.volumeSize"
    assert consequences.of([changed(TEMPLATE, path)]) == (f"LaunchTemplate gpu: {ROLLED}",)


@pytest.mark.parametrize("path", ["tags.team", "tagsAll.team", "description"])
def test_tags_of_a_launch_template_restart_nothing(path: str) -> None:
    assert consequences.of([changed(TEMPLATE, path)]) == ()


def test_a_group_that_moves_is_made_anew_and_can_be_kept_where_it_is() -> None:
    (line,) = consequences.of([changed(GROUP, "subnetIds[0]", replaces=True)])
    assert line == (
        "node group gpu is made anew: every node of it goes, and what runs there restarts elsewhere "
        "(because of subnetIds[0]); name its zones in nodeGroups to keep it where it is"
    )


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("gcp:container/nodePool:NodePool", "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig"),
        ("azure-native:containerservice:AgentPool", "availabilityZones"),
    ],
)
def test_a_pool_that_is_made_anew_says_which_property_does_it(kind: str, path: str) -> None:
    (line,) = consequences.of([changed(kind, path, replaces=True)])
    assert line.startswith("node group gpu is made anew")
    assert f"(because of {path})" in line


def test_a_version_without_pins_leaves_add_ons_at_their_builds() -> None:
    upgrade = changed("aws:eks/cluster:Cluster", "version", "1.35", "1.36", name="cluster")
    addon = changed("aws:eks/addon:Addon", "addonVersion", "v1.14.3-eksbuild.3", "", name="cluster-coredns")
    says = "stays at the build that it has: none is pinned for this Kubernetes version; name one in cluster.addons"
    assert consequences.of([upgrade, addon]) == (f"Addon cluster-coredns: {says}",)
    (line,) = consequences.of([upgrade])
    assert line.startswith("the add-ons stay at the builds that they have")
    pinned = changed("aws:eks/addon:Addon", "addonVersion", "v1.14.3-eksbuild.3", "v1.15.0-eksbuild.1")
    assert consequences.of([upgrade, pinned]) == ()


def test_a_version_on_aks_empties_spot_pools_without_waiting() -> None:
    (line,) = consequences.of([changed("azure-native:containerservice:AgentPool", "orchestratorVersion")])
    assert "spot pool are emptied without waiting" in line


def test_what_comes_or_goes_as_a_whole_restarts_nothing_else() -> None:
    assert consequences.of([Change("create", GROUP, "gpu"), Change("delete", TEMPLATE, "gpu")]) == ()


def test_reports_say_it_where_there_is_something_to_say() -> None:
    report = Report("prod", changes=(changed(GROUP, "version", "1.34", "1.35"),))
    assert f"## What restarts\n\n- NodeGroup gpu: {ROLLED}\n" in markdown.render(report)
    assert "What restarts" not in markdown.render(Report("prod"))
    output = io.StringIO()
    Console(file=output, width=200).print(table.render(report, 200))
    assert f"note: NodeGroup gpu: {ROLLED}" in output.getvalue()
