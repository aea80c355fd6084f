"""What each real node has of its own, and what the nodes of one machine divide."""

from __future__ import annotations

import configparser
import ipaddress
import json
import os
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from tensorplane.components.clusters.embedded import NODE, Embedded
from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import (
    csi,
    node_config,
    node_network,
    nodes,
    pki,
    process_specs,
    processes,
    supervisor,
)
from tensorplane.embedded.cluster.node_paths import NodePaths, of_nodes
from tensorplane.embedded.cluster.node_volumes import ReadOnlyStore
from tensorplane.embedded.cluster.nodes import MOST_NODES, Node
from tensorplane.embedded.cluster.processes import Alive
from tensorplane.embedded.csi.records import identifier
from tensorplane.embedded.csi.refusal import Refusal
from tensorplane.embedded.instance import Instance

EVERY = [Node(Instance("dev"), number) for number in range(1, MOST_NODES + 1)]


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodePaths:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return NodePaths(Instance("test"))


@pytest.fixture
def second(first: NodePaths) -> NodePaths:
    return NodePaths(first.instance, 2)


def test_nodes_have_ranges_of_their_own_within_one_that_is_nobody_elses() -> None:
    ranges = [ipaddress.IPv4Network(node.pod_cidr) for node in EVERY]
    assert [str(each) for each in ranges] == ["10.200.0.0/24", "10.200.1.0/24", "10.200.2.0/24", "10.200.3.0/24"]
    assert nodes.pods(Instance("dev")) == "10.200.0.0/22"
    assert [node.ip for node in EVERY[:2]] == ["10.200.0.1", "10.200.1.1"]
    assert not any(each.overlaps(ipaddress.IPv4Network(Instance("dev").service_cidr)) for each in ranges)


def test_the_settings_allow_as_many_nodes_as_there_can_be() -> None:
    assert EVERY[0].name == NODE
    allowed = Embedded.model_json_schema()["properties"]["nodes"]["anyOf"][0]
    assert (allowed["minimum"], allowed["maximum"]) == (1, MOST_NODES)


def test_nodes_give_away_the_machine_once() -> None:
    assert nodes.reserved(1) == {"memory": "512Mi"}
    cores, mib = os.cpu_count() or 1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    for count in range(2, MOST_NODES + 1):
        reserved = nodes.reserved(count)
        assert 1000 * cores - count < count * (1000 * cores - int(reserved["cpu"].removesuffix("m"))) <= 1000 * cores
        assert mib - 512 - count < count * (mib - int(reserved["memory"].removesuffix("Mi"))) <= mib - 512


def test_a_further_node_shares_no_file_address_or_cgroup_with_the_first(first: NodePaths, second: NodePaths) -> None:
    one, other = (yaml.safe_load(node_config.kubelet(paths, 2)) for paths in (first, second))
    same = ("address", "cgroupRoot", "tlsCertFile", "tlsPrivateKeyFile")
    assert not [key for key in same if one[key] == other[key]]
    assert {key: one[key] for key in one if key not in same} == {key: other[key] for key in other if key not in same}
    assert other["cgroupRoot"] == "/tensorplane-test/node-2"
    containers = tomllib.loads(node_config.containerd(second))
    assert containers["root"] == str(second.instance.home / "node-2" / "containerd")
    [plugin, _] = json.loads(node_config.cni(second))["plugins"]
    assert plugin["ipam"]["ranges"] == [[{"subnet": "10.203.1.0/24", "gateway": "10.203.1.1"}]]
    assert yaml.safe_load(node_config.proxy(second))["bindAddress"] == "10.203.1.1"


def test_the_kubelet_of_each_node_has_the_certificate_of_that_node_alone() -> None:
    leaves = [leaf for node in EVERY[:2] for leaf in pki.of_node(node)]
    assert [(leaf.name, leaf.common_name, leaf.organization) for leaf in leaves] == [
        ("kubelet-server", "system:node:tensorplane", None),
        ("kubelet", "system:node:tensorplane", "system:nodes"),
        ("kubelet-server-2", "system:node:tensorplane-2", None),
        ("kubelet-2", "system:node:tensorplane-2", "system:nodes"),
    ]
    assert leaves[2].addresses == ("tensorplane-2", "10.200.1.1")


def test_a_further_node_is_one_process_of_the_first_that_ends_all_of_it_and_starts_all_of_it(
    first: NodePaths, second: NodePaths
) -> None:
    above, below = configparser.ConfigParser(), configparser.ConfigParser()
    above.read_string(supervisor.render(first, process_specs.of_instance(first, storage=True, nodes=2)))
    own = process_specs.of_further_node(second, storage=True)
    below.read_string(supervisor.render(second, own, autostart=True))
    node = above["program:node-2"]
    assert shlex.split(node["command"])[-2:] == ["test", "2"]
    assert (node["stopsignal"], node["autostart"]) == ("KILL", "false")
    assert [spec.name for spec in own] == ["containerd", "kubelet", "kube-proxy", csi.DRIVER_PROGRAM]
    assert {below[f"program:{spec.name}"]["autostart"] for spec in own} == {"true"}
    assert not [name for name in above.sections() if above.has_option(name, "stopsignal") and name != "program:node-2"]


def test_a_node_is_there_as_long_as_it_has_a_configuration(first: NodePaths, second: NodePaths) -> None:
    assert of_nodes(first.instance) == [first]
    second.config.mkdir(parents=True)
    assert of_nodes(first.instance) == [first, second]


@pytest.mark.parametrize(
    ("says", "is_found"), [({}, False), ({"home": "/h"}, False), ({"node": "tensorplane-2"}, True)]
)
def test_a_node_is_found_once_its_sockets_are_no_longer_the_first_ones(
    monkeypatch: pytest.MonkeyPatch, says: dict[str, str], is_found: bool
) -> None:
    monkeypatch.setattr(processes, "_first", lambda *_: Alive(1))
    monkeypatch.setattr(Alive, "identity", lambda *_: says)
    assert (processes.find_node(EVERY[1]) == Alive(1)) is is_found


def test_a_range_of_a_further_node_that_is_in_use_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    routes = [{"dst": "10.200.1.0/24", "dev": "vpn"}]
    monkeypatch.setattr(node_network, "run", lambda *_: json.dumps(routes))
    node_network.check_addresses(EVERY[2:])
    with pytest.raises(
        UserError, match=r"^10\.200\.1\.0/24: the embedded cluster requires this range, but .* on vpn uses"
    ):
        node_network.check_addresses(EVERY[1:])


def test_a_further_nodes_driver_changes_no_volume(tmp_path: Path) -> None:
    for folder in ("volumes", "snapshots"):
        (tmp_path / folder).mkdir()
    seen = ReadOnlyStore(tmp_path)
    with pytest.raises(Refusal, match="the first node's driver alone"):
        seen.delete_volume(identifier("pvc-1"))
    assert seen.is_there
