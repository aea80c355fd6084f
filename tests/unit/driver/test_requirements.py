"""What `make up` builds and starts for a stack: real nodes, controllers, and images with its jobs' packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane.driver import requirements
from tensorplane.driver.requirements import Requirements
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.embedded.instance import Instance
from tensorplane.stack_file import package_lock, sweep_packages
from tensorplane.stack_file.package_lock import PackageLock

STACK = """
config:
  tensorplane:workloads:
    a: {kind: trainingJob, packages: [six, humanize]}
    b: {kind: trainingJob, packages: [humanize, six]}
    c: {kind: trainingJob, packages: [pandas]}
    wrong: {packages: six}
    worse: 7
"""


@pytest.fixture
def settings(tmp_path: Path) -> StackSettings:
    (tmp_path / "Pulumi.mine.yaml").write_text(STACK)
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "requirements.txt").write_text("tf-keras==2.21.0\n")
    return StackSettings("mine", tmp_path / "home", project=tmp_path)


def _packages(settings: StackSettings) -> list[tuple[str, ...]]:
    return Requirements(settings, Instance("test")).packages


def test_a_stack_whose_teams_have_members_gets_the_image_of_sweeps(settings: StackSettings, tmp_path: Path) -> None:
    teams = "  tensorplane:teams: {vision: {members: ['user:ada']}, audio: {}}\n"
    (tmp_path / "Pulumi.mine.yaml").write_text(STACK + teams)
    assert _packages(settings) == [sweep_packages.lines()]


def test_jobs_that_ask_for_the_same_share_a_set(settings: StackSettings) -> None:
    assert requirements.list_package_sets(settings) == [["six", "humanize"], ["pandas"]]


def test_only_what_locked_sets_add_to_the_image_is_built(settings: StackSettings, tmp_path: Path) -> None:
    assert _packages(settings) == []
    package_lock.write(tmp_path, PackageLock("x", {"humanize, six": ("six==1 --hash=sha256:a",)}))
    assert _packages(settings) == [("six==1 --hash=sha256:a",)]
    keras = "tf-keras==2.21.0 --hash=sha256:b"
    sets = {"humanize, six": (keras, "six==1 --hash=sha256:a"), "pandas": (keras,)}
    package_lock.write(tmp_path, PackageLock("x", sets))
    assert _packages(settings) == [("six==1 --hash=sha256:a",)]
    (tmp_path / package_lock.FILE).write_text("")
    assert _packages(settings) == []


@pytest.mark.parametrize(
    ("cluster", "nodes"),
    [({}, None), ({"kind": "embedded"}, None), ({"nodes": 2}, 2), ({"nodes": "3"}, 3), ({"nodes": "many"}, None)],
)
def test_the_number_of_real_nodes_is_that_of_the_settings_if_they_state_one(
    monkeypatch: pytest.MonkeyPatch, settings: StackSettings, cluster: dict[str, Any], nodes: int | None
) -> None:
    monkeypatch.setattr(StackSettings, "section", lambda _, name: cluster if name == "cluster" else {})
    assert Requirements(settings, Instance("test")).nodes == nodes


@pytest.mark.parametrize(
    ("workloads", "controllers", "needed"),
    [
        ("{}", "{}", ""),
        ("{s: {scaling: {cpu: 80}}}", "{}", "metrics-server"),
        ("{s: {scaling: {requests: 5}}}", "{}", "keda prometheus"),
        ("{s: {scaling: {requests: 5}}}", "{prometheusUrl: 'http://p'}", "keda"),
        ("{a: {scaling: {cpu: 80}}, b: {scaling: {}}}", "{}", "keda metrics-server prometheus"),
        ("{}", "{metricsServer: chart, keda: chart}", "keda metrics-server prometheus"),
        ("{s: {expose: {create: true}}}", "{}", "traefik"),
        ("{s: {expose: {create: true}}}", "{gateway: installed}", ""),
        ("{s: {expose: {host: a}}}", "{gateway: chart}", "traefik"),
        ("{p: {kind: pipeline}}", "{}", "argo-workflows"),
        ("{p: {kind: pipeline}}", "{argoWorkflows: installed}", ""),
        ("{}", "{argoWorkflows: chart}", "argo-workflows"),
        ("{wrong: 7, s: {scaling: 3, expose: x}}", "{}", ""),
    ],
)
def test_controllers_are_compiled_only_for_stacks_that_use_or_install_them(
    tmp_path: Path, workloads: str, controllers: str, needed: str
) -> None:
    text = f"config: {{tensorplane:workloads: {workloads}, tensorplane:controllers: {controllers}}}"
    (tmp_path / "Pulumi.mine.yaml").write_text(text)
    settings = StackSettings("mine", tmp_path / "home", project=tmp_path)
    assert sorted(Requirements(settings, Instance("test")).controllers) == needed.split()
