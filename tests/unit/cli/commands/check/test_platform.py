"""What a workload stack needs of its platform, compared with the cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.commands.check import cluster
from tensorplane.core.errors import UserError
from tests.support.workload_stacks import JOB, PLATFORM, SERVER, Project

NAMESPACE = "/api/v1/namespaces/tensorplane-dev"


class Api:
    """An API server that has what a test says, by path."""

    def __init__(self, **lists: list[str]) -> None:
        self.lists = lists

    def get(self, path: str) -> dict[str, Any] | None:
        if path == NAMESPACE:
            return {} if self.lists else None
        return {} if "jobsets" in self.lists else None

    def items(self, path: str) -> list[dict[str, Any]]:
        names = self.lists.get(path.rpartition("/")[2], [])
        return [{"metadata": {"name": name}} for name in names]

    metadata = items


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    found.write("vision", {"platform": "dev", "workloads": {"search": JOB, "search-server": SERVER}})
    return found


def find_lines(project: Project, api: Api, name: str = "vision") -> list[str]:
    try:
        cluster.refuse(project.load(name), api)  # type: ignore[arg-type]
    except UserError as fault:
        return [line.removeprefix("tensorplane:") for line in fault.lines]
    return []


def test_what_is_deployed_has_no_faults(project: Project) -> None:
    api = Api(jobsets=[], localqueues=["training"], persistentvolumeclaims=["models"])
    assert find_lines(project, api) == []


def test_a_platform_that_is_not_there_is_one_line(project: Project) -> None:
    says = "dev is not deployed: the cluster has no namespace tensorplane-dev; deploy it with: make up"
    assert find_lines(project, Api()) == [f"platform: {says}"]


def test_what_is_declared_and_not_deployed_is_a_line_each(project: Project) -> None:
    lacks = "dev declares {}, but namespace tensorplane-dev does not have it; deploy it with: make up"
    assert find_lines(project, Api(localqueues=["other"])) == [
        "platform: the cluster of dev has no JobSet, which runs the jobs; deploy it with: make up",
        f"workloads.search.queue: {lacks.format('queue training')}",
        f"workloads.search.volumes.models: {lacks.format('volume models')}",
        f"workloads.search-server.model.volume: {lacks.format('volume models')}",
    ]


def test_the_platform_itself_is_not_compared_with_itself(project: Project) -> None:
    project.write("vision", {"platform": "dev", "workloads": {}})
    project.write("dev", {**PLATFORM, "volumes": {}, "workloads": {}, "teams": {}})
    assert find_lines(project, Api(), "dev") == []
