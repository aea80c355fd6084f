"""`make up` of a stack in a cloud: the preview goes first, its own cluster is asked, and long jobs are not awaited."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from core.errors import UserError
from core.paths import PROJECT
from core.progress import Progress
from driver import showcase, stack_settings, up, watch
from driver.policy_pack import Policies
from driver.target import Target
from embedded.instance import Instance

CLOUD = Target("", Instance("test"), cloud="eks", stack="prod")
DIGITS = stack_settings.read(PROJECT / "Pulumi.dev.yaml").section("workloads")
OTHER = {**DIGITS, "digits": {**DIGITS["digits"], "files": {"train.py": "mine/train.py"}}}
OUTPUTS: dict[str, Any] = {
    "namespace": "ml",
    "workloads": {
        "digits": {"kind": "trainingJob", "jobSet": "digits-1", "queue": "training"},
        "digits-server": {
            "kind": "modelServer",
            **dict.fromkeys(("deployment", "service", "grpc"), "digits"),
            "models": {"digits": "http://digits:8501/v1/models/digits"},
        },
    },
}


def test_a_preview_that_refuses_stops_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def refuses(target: Target, *arguments: str) -> subprocess.CompletedProcess[str]:
        asked.append((target.stack, *arguments))
        return subprocess.CompletedProcess([], 1, "A policy refuses this update\n", "")

    monkeypatch.setattr(up, "_tensorplane", refuses)
    with pytest.raises(UserError, match="A policy refuses this update"):
        up._previewed(CLOUD, Policies.RUN)
    with pytest.raises(UserError):
        up._previewed(CLOUD, Policies.SKIP)
    assert asked == [("prod", "preview", "--policies", "run"), ("prod", "preview", "--policies", "skip")]


def test_a_cluster_in_a_cloud_that_does_not_answer_stops_no_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """The update may be what makes the cluster, or what lets this machine reach it."""

    def fails(self: Target) -> None:
        raise UserError("stack prod: its cluster does not exist yet")

    monkeypatch.setattr(Target, "api", fails)
    assert up._api(CLOUD) is None
    with pytest.raises(UserError, match="its cluster does not exist yet"):
        up._api(Target("mine", Instance("test")))


class _Api:
    def get(self, path: str) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("target", "declared", "steps"),
    [
        (CLOUD, OTHER, ["jobs", "wait_for_start"]),
        (CLOUD, DIGITS, ["jobs", "wait_for_start", "training", "serving", "asked"]),
        (Target("", Instance("test")), OTHER, ["jobs", "wait_for_start", "training", "serving"]),
        (Target("", Instance("test")), DIGITS, ["jobs", "wait_for_start", "training", "serving", "asked"]),
    ],
    ids=["in a cloud", "the example in a cloud", "here", "the example here"],
)
def test_what_is_followed_to_its_end(
    monkeypatch: pytest.MonkeyPatch, target: Target, declared: dict[str, Any], steps: list[str]
) -> None:
    done: list[str] = []
    for name in ("jobs", "wait_for_start", "training", "serving"):
        monkeypatch.setattr(watch, name, lambda *_, name=name: done.append(name))
    monkeypatch.setattr(watch, "is_simulated", lambda api, outputs: False)
    monkeypatch.setattr(showcase, "ask", lambda api, outputs: done.append("asked"))
    monkeypatch.setattr(Target, "api", lambda self: _Api())
    with Progress(Console(file=io.StringIO())) as progress:
        followed = up._follow(target, OUTPUTS, declared, progress)
    assert done == steps
    assert (followed is None) == ("training" not in steps)


@pytest.mark.parametrize(
    ("written", "context", "expected"),
    [
        ("platform: other", "", True),
        ("queues: {train: {gpus: {l4: 8}}}", "mine", True),
        ("queues: {train: {gpus: {l4: 8}}}", "", False),
        ("queues: {train: {cpus: 8}}", "mine", False),
    ],
)
def test_what_other_stacks_have_is_compared_before_an_update(
    tmp_path: Path, written: str, context: str, expected: bool
) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text(f"config: {{{written}}}")
    settings = stack_settings.StackSettings("dev", tmp_path, project=tmp_path)
    assert up._meets_others(Target(context, Instance("test")), settings) is expected


@pytest.mark.parametrize(
    ("cluster", "nodes"),
    [({}, None), ({"kind": "embedded"}, None), ({"nodes": 2}, 2), ({"nodes": "3"}, 3), ({"nodes": "many"}, None)],
)
def test_the_number_of_real_nodes_is_that_of_the_settings_if_they_state_one(
    monkeypatch: pytest.MonkeyPatch, cluster: dict[str, Any], nodes: int | None
) -> None:
    monkeypatch.setattr(stack_settings.StackSettings, "section", lambda _, name: cluster if name == "cluster" else {})
    assert up._nodes(Target("", Instance("test"))) == nodes
