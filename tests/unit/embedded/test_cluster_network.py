"""Which routes of a machine stand in the way of the cluster's addresses."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from tensorplane.embedded.cluster import network, processes, stopping
from tensorplane.embedded.instance import Instance

WANTED = [ipaddress.IPv4Network(text) for text in ("10.200.0.0/24", "10.201.0.0/24")]


@pytest.mark.parametrize(
    "route",
    [
        {"dst": "default", "dev": "eth0"},
        {"dst": "10.0.0.0/8", "dev": "tun0"},
        {"dst": "10.200.1.0/24", "dev": "eth0"},
        {"dst": "10.200.0.0/24", "dev": "tp-dev"},
        {"type": "unreachable", "dst": "10.200.0.0/24"},
    ],
)
def test_these_do_no_harm(route: dict[str, str]) -> None:
    assert network.conflicts(WANTED, [route], own="tp-dev") == []


def test_each_interface_in_the_way_is_one_line() -> None:
    routes = [
        {"dst": "10.200.0.0/25", "dev": "eth1"},
        {"type": "local", "dst": "10.200.0.7", "dev": "eth1"},
        {"dst": "10.201.0.64/26", "dev": "docker0"},
    ]
    lines = network.conflicts(WANTED, routes, own="tp-dev")
    assert [line.split(":")[0] for line in lines] == ["10.200.0.0/24", "10.201.0.0/24"]
    assert "10.200.0.0/25 on eth1" in lines[0]
    assert "10.201.0.64/26 on docker0" in lines[1]


def test_another_instances_mount_is_no_residue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name may begin with this one's: test, test-2."""
    own, other = (str(network.path(Instance(name))) for name in ("test", "test-2"))
    assert other.startswith(own)
    monkeypatch.setattr(network, "mounts", lambda: [other, own])
    monkeypatch.setattr(processes, "members", lambda _: set())  # a cluster of other tests may be starting or stopping
    told = [line for line in stopping.residue(Instance("test")) if line.startswith("mount ")]
    assert told == [f"mount {own}"]


def test_another_instances_pods_are_not_this_ones(tmp_path: Path) -> None:
    own, other = (tmp_path / f"tensorplane-{name}-{'0a' * 32}-eth0" for name in ("e2e", "e2e-3"))
    own.touch()
    other.touch()
    assert network.notes(Instance("e2e"), tmp_path) == [own]
    assert network.notes(Instance("e2e-3"), tmp_path) == [other]
