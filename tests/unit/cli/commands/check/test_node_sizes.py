"""Pods that the node of this machine cannot hold, from a recorded answer."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, cast

import pytest

from tensorplane import stack
from tensorplane.cli import __main__ as commands
from tensorplane.cli import stack_config
from tensorplane.cli.commands.check import node_sizes
from tensorplane.components.base.settings import Settings
from tensorplane.core.kube import Kube
from tests.support.problems import put
from tests.support.rendering import PROJECT, settings_of


class Api:
    """The API server of a machine with two cores and 8 GiB."""

    def items(self, path: str) -> list[dict[str, Any]]:
        assert path == "/api/v1/nodes"
        return [{"status": {"allocatable": {"cpu": "2", "memory": "8388608Ki"}}}]


def _problems(**changes: Any) -> list[str]:
    tree = copy.deepcopy(settings_of(PROJECT / "Pulumi.dev.yaml").tree)
    del tree["workloads"]["digits"]["queue"]
    for path, value in changes.items():
        put(tree, path, value)
    config = stack.load(Settings(tree))
    api = cast(Kube, Api())
    return [str(fault) for fault in node_sizes.problems(config, lambda: node_sizes.of_nodes(api))]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("cpus", 5, "this machine has only 2 cores for pods; set less, or deploy to a larger cluster"),
        ("memoryGib", 8.5, "this machine has only 8 GiB for pods; set less, or deploy to a larger cluster"),
    ],
)
def test_a_pod_larger_than_the_machine_is_one_line(key: str, value: float, says: str) -> None:
    assert _problems(**{f"workloads/digits/resources/{key}": value}) == [
        f"tensorplane:workloads.digits.resources.{key}: {says}"
    ]


def test_a_pod_of_the_machines_size_and_simulated_nodes_are_accepted() -> None:
    assert _problems(**{"workloads/digits/resources/cpus": 2, "workloads/digits/resources/memoryGib": 8}) == []
    assert (
        _problems(nodeGroups={"cards": {"accelerator": "t4", "max": 1}}, **{"workloads/digits/resources/cpus": 5}) == []
    )


def test_node_sizes_of_other_clusters_are_not_checked() -> None:
    other = {"kind": "existing", "context": "team"}
    assert _problems(cluster=other, **{"workloads/digits/resources/cpus": 5}) == []


_STAGE = """
config:
  tensorplane:volumes:
    data: {sizeGib: 1}
  tensorplane:datasets:
    raw: {volume: data}
    made: {volume: data}
  tensorplane:workloads:
    large:
      kind: pipeline
      stages:
        all: {command: [sh, -c, "true"], inputs: {in: raw}, output: made, resources: {cpus: 64}}
"""


@pytest.mark.parametrize(
    ("words", "started", "refused"),
    [([], True, True), ([], False, False), (["--machine"], False, True), (["--no-machine"], True, False)],
)
def test_a_stage_larger_than_the_machine_of_the_embedded_cluster_is_refused_without_asking_it(
    words: list[str],
    started: bool,
    refused: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text(_STAGE)
    monkeypatch.setattr(stack_config, "file", lambda _: tmp_path / "Pulumi.dev.yaml")
    monkeypatch.setattr(node_sizes, "has_embedded_cluster", lambda: started)
    monkeypatch.setattr(node_sizes, "of_machine", lambda _: [(2000, 8192)])
    assert commands.main(["check", *words]) == int(refused)
    line = "tensorplane:workloads.large.stages.all.resources.cpus: this machine has only 2 cores for pods"
    assert (line in capsys.readouterr().err) == refused


def test_the_size_of_this_machine_is_that_of_its_only_node() -> None:
    ((cores, memory),) = node_sizes.of_machine()
    assert cores >= 1000
    assert memory > 128
    assert node_sizes.of_machine(2) == [(cores // 2, memory // 2)] * 2


def test_a_pod_larger_than_each_of_several_nodes_is_one_line() -> None:
    tree = copy.deepcopy(settings_of(PROJECT / "Pulumi.dev.yaml").tree)
    del tree["workloads"]["digits"]["queue"]
    put(tree, "workloads/digits/resources/cpus", 2)
    config = stack.load(Settings(tree))
    [fault] = node_sizes.problems(config, lambda: [(1000, 4096), (1000, 4096)])
    assert "cpus: each node of this machine has only 1 cores for pods" in str(fault)
