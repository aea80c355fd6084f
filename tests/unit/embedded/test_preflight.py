"""The rules over a probed machine: one line per missing thing."""

from __future__ import annotations

import ipaddress
from dataclasses import replace

import pytest

from tensorplane.core.errors import UserError
from tensorplane.embedded import preflight
from tensorplane.embedded.instance import Instance
from tensorplane.embedded.machine import Machine, Route, routes
from tensorplane.embedded.preflight import CONTROLLERS, FIRST_MIB, MEMORY_MIB, missing

FIT = Machine(controllers=frozenset(CONTROLLERS), memory_mib=MEMORY_MIB, free_mib={"/": FIRST_MIB})
DEV = Instance()


def _problems(machine: Machine) -> list[str]:
    return missing(machine, DEV, FIRST_MIB)


def test_a_fit_machine_has_no_fault() -> None:
    assert _problems(FIT) == []
    assert _problems(replace(FIT, cgroup_version=1, architecture="aarch64")) == []


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (replace(FIT, system="Darwin"), ("Darwin", "not Linux")),
        (replace(FIT, architecture="riscv64"), ("riscv64", "x86_64 or aarch64")),
        (replace(FIT, is_root=False), ("not root", "sudo make up")),
        (replace(FIT, cgroup_version=0), ("none mounted", "version 1 or 2")),
        (replace(FIT, controllers=frozenset({"cpu", "cpuset", "memory"})), ("version 2 lacks pids",)),
        (replace(FIT, refusals={"overlayfs": "unknown filesystem type"}), ("overlayfs", "unknown filesystem type")),
        (replace(FIT, refusals={"bridge": "Not supported"}), ("bridge", "modprobe bridge")),
        (replace(FIT, memory_mib=2000), ("2000 MiB", f"less than the required {MEMORY_MIB} MiB")),
        (replace(FIT, free_mib={"/home": 900}), ("900 MiB free at /home", f"less than the required {FIRST_MIB} MiB")),
        (replace(FIT, has_apt=False, missing_packages=("runc",)), ("apt: not found (and runc",)),
        (
            replace(FIT, routes=(Route(ipaddress.IPv4Network("10.200.0.0/25"), "docker0"),)),
            ("10.200.0.0/25", "docker0"),
        ),
        (replace(FIT, routes=(Route(ipaddress.IPv4Network("10.201.0.0/16"), "lan"),)), ("services", "take lan down")),
    ],
)
def test_each_missing_thing_is_one_line(machine: Machine, said: tuple[str, ...]) -> None:
    found = _problems(machine)
    assert len(found) == 1
    assert all(part in found[0] for part in said), found[0]


def test_further_nodes_need_memory_and_addresses_of_their_own() -> None:
    route = Route(ipaddress.IPv4Network("10.200.1.0/24"), "vpn")
    assert _problems(replace(FIT, routes=(route,))) == []
    found = missing(replace(FIT, routes=(route,)), DEV, FIRST_MIB, nodes=2)
    assert [line.partition(":")[0] for line in found] == ["memory", "addresses"]
    assert "10.200.1.0/24 on vpn overlaps 10.200.1.0/24, required for pods" in found[1]


def test_all_are_said_at_once() -> None:
    bare = Machine(is_root=False, architecture="mips", cgroup_version=0, has_apt=False, free_mib={"/": 1})
    assert [line.partition(":")[0] for line in _problems(bare)] == [
        "processor",
        "user",
        "cgroups",
        "memory",
        "disk",
        "apt",
    ]


def test_without_namespaces_the_other_trials_mean_nothing() -> None:
    refusals = {"namespaces": "Operation not permitted", "veth": "Operation not permitted"}
    assert len(_problems(replace(FIT, refusals=refusals))) == 1


@pytest.mark.parametrize(
    "route",
    [Route(ipaddress.IPv4Network("10.0.0.0/8"), "vpn"), Route(ipaddress.IPv4Network("10.200.0.0/24"), DEV.uplink)],
)
def test_wide_routes_and_the_clusters_own_are_no_fault(route: Route) -> None:
    assert _problems(replace(FIT, routes=(route,))) == []


def test_the_kernels_routing_table_is_read() -> None:
    table = (
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
        "docker0\t0000C80A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    )
    assert routes(table) == (Route(ipaddress.IPv4Network("10.200.0.0/24"), "docker0"),)


def test_the_check_ends_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "probe", lambda *_: replace(FIT, is_root=False))
    with pytest.raises(UserError) as caught:
        preflight.check(DEV)
    assert len(caught.value.lines) == 3
    assert caught.value.lines[-1].endswith("make up CONTEXT=kind-dev")
