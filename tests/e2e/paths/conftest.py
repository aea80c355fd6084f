"""The stack of the paths, deployed once: a team's queue, volumes and servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli import members_kubeconfig
from tensorplane.components.teams import members
from tensorplane.embedded.cluster import kubeconfig
from tensorplane.embedded.cluster.node_paths import NodePaths
from tests.e2e import canary_server
from tests.e2e.canary_server import CanaryServer
from tests.e2e.conftest import Deployed
from tests.e2e.stacks import OwnStack
from tests.support import installed
from tests.support.person import Person

NAME, TEAM = "paths", "vision"
_SMALL = {"cpus": 0.05, "memoryGib": 0.25}
_READS = "import os; print('baseline reads', os.listdir('/datasets'), flush=True)"
SECTIONS: dict[str, dict[str, Any]] = {
    "queues": {
        "research": {"cpus": 1, "memoryGib": 3, "teams": [TEAM]},
        "closed": {"cpus": 0.1, "memoryGib": 0.1},
        "listening": {"cpus": 0.1, "memoryGib": 0.25, "teams": ["speech"]},
    },
    "volumes": {
        "models": canary_server.VOLUME,
        "datasets": {"sizeGib": 0.1, "retain": False},
        "scratch": {"sizeGib": 1, "retain": False},
    },
    "teams": {
        TEAM: {"retain": False, "members": ["user:ada"], "volumes": {"datasets": "readOnly", "models": "readWrite"}},
        "speech": {"retain": False, "members": ["user:eve"], "volumes": {"datasets": "readOnly"}},
    },
    "workloads": {
        **{
            name: {"kind": "modelServer", "resources": _SMALL, "model": {"volume": "models", "path": path}}
            for name, path in {"digits": "team-digits", "searched": "searched", "squares-server": "squares"}.items()
        },
        "half": canary_server.settings("half"),
        "baseline": {
            "kind": "trainingJob",
            "team": TEAM,
            "queue": "research",
            "strategy": {"kind": "single"},
            "resources": {"cpus": 0.1, "memoryGib": 0.1},
            "command": ["python", "-c", _READS],
            "volumes": {"datasets": {"path": "/datasets", "readOnly": True}},
        },
    },
}
"""Of its settings. Each server belongs to one test, and team speech to the one that changes its volume."""


@pytest.fixture(scope="package")
def paths(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnStack]:
    """The stack. It ends with the cluster; its pods, which the tests after it need the room of, end now."""
    made = OwnStack(deployed, tmp_path_factory.mktemp("paths"), NAME)
    made.up(**SECTIONS)
    yield made
    for namespace in (made.namespace, *SECTIONS["teams"]):
        deployed.kube.delete(f"/api/v1/namespaces/{namespace}")


@pytest.fixture(scope="package")
def half(paths: OwnStack) -> CanaryServer:
    """The server with a canary, with its first version."""
    made = CanaryServer(paths, "half")
    made.publish("half-1", 1)
    made.settled(1)
    return made


@pytest.fixture(scope="package")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    """`tensorplane` as members install it: the wheel without extras."""
    folder = tmp_path_factory.mktemp("member")
    return str(installed.install(installed.build_wheel(folder), folder / "environment").with_name("tensorplane"))


@pytest.fixture
def member(paths: OwnStack, command: str, tmp_path: Path) -> Person:
    """A member of team vision in a folder of their own, with the team's credentials and the installed command alone."""
    return a_member(paths, tmp_path, TEAM, command)


def a_member(paths: OwnStack, folder: Path, team: str, command: str) -> Person:
    """A member of a team."""
    instance = paths.deployed.instance
    keys, group = NodePaths(instance).keys, members.group(paths.namespace, team)
    issued = kubeconfig.of_member(instance, keys, team, group, team)
    (folder / "kubeconfig").write_text(members_kubeconfig.noted(issued.decode(), team))
    (home := folder / "home").mkdir()
    return Person(home, folder / "kubeconfig", (command,))
