"""A cluster that this machine has no room for is not started, and one line says why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.instance import Instance
from tests.cluster.remains import remains
from tests.support import cluster_fixture


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[Instance]:
    """An instance that was never started, beside that of the other modules."""
    with cluster_fixture.own_home(tmp_path / "state", "e2e") as instance:
        yield instance


def test_a_full_disk_is_one_line(stopped: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = tmp_path / "full"
    full.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(full))
    run("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(full))
    try:
        with pytest.raises(UserError, match=r"0\.1 GiB are free, but the cluster requires 2") as fault:
            cluster.start(stopped, Step("cluster"))
    finally:
        run("umount", str(full))
    assert len(fault.value.lines) == 1


@pytest.fixture
def taken_address(stopped: Instance) -> Iterator[str]:
    """Another interface of this machine that holds an address of the pods' range."""
    name = f"taken{stopped.uplink.removeprefix('tp')}"
    run("ip", "link", "add", name, "type", "bridge")
    try:
        run("ip", "address", "add", stopped.pod_cidr.replace(".0/24", ".77/25"), "dev", name)
        run("ip", "link", "set", name, "up")
        yield name
    finally:
        run("ip", "link", "delete", name)


@pytest.mark.nightly("tests/unit/embedded/test_cluster_network.py has the lines; this changes the host's interfaces")
def test_an_address_range_in_use_is_one_line(stopped: Instance, taken_address: str) -> None:
    with pytest.raises(UserError) as fault:
        cluster.start(stopped, Step("cluster"))
    [line] = fault.value.lines
    assert f"{stopped.pod_cidr}: the embedded cluster requires this range, but" in line
    assert taken_address in line
    assert remains(stopped) == []
