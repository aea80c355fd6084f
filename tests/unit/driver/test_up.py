"""`make up` of a stack in a cloud: the preview goes first, its own cluster is asked, and long jobs are not awaited."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.core.progress import Progress
from tensorplane.core.step import Step
from tensorplane.driver import digits_demo, stack_settings, up, watch
from tensorplane.driver.target import Target
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.driver.update.stack import Stack
from tensorplane.embedded.instance import Instance

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


def _run(
    target: Target, declared: dict[str, Any] | None = None, policies: Policies = Policies.RUN, **outputs: Any
) -> up._Run:
    settings = SimpleNamespace(section=lambda name: declared or {}, file=Path("Pulumi.staging.yaml"))
    stack = SimpleNamespace(settings=settings, outputs=lambda: {**OUTPUTS, **outputs})
    return up._Run(target, cast(Stack, stack), Console(file=io.StringIO()), policies, refresh=False)


def _follow(run: up._Run) -> None:
    """Take the steps after the update."""
    with Progress(run.console) as progress:
        for step in up._steps()[2:]:
            if step.needed(run):
                step.take(run, progress)


def test_a_preview_that_refuses_stops_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def refuses(target: Target, *arguments: str) -> subprocess.CompletedProcess[str]:
        asked.append((target.stack, *arguments))
        return subprocess.CompletedProcess([], 1, "A policy refuses this update\n", "")

    monkeypatch.setattr(up, "_tensorplane", refuses)
    with pytest.raises(UserError, match="A policy refuses this update"):
        up._preview(_run(CLOUD, policies=Policies.RUN), Step("preview"))
    with pytest.raises(UserError):
        up._preview(_run(CLOUD, policies=Policies.SKIP), Step("preview"))
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
        (CLOUD, OTHER, []),
        (CLOUD, DIGITS, ["wait_for_training", "wait_for_serving", "asked"]),
        (Target("", Instance("test")), OTHER, ["wait_for_training", "wait_for_serving"]),
        (Target("", Instance("test")), DIGITS, ["wait_for_training", "wait_for_serving", "asked"]),
    ],
    ids=["in a cloud", "the example in a cloud", "here", "the example here"],
)
def test_what_is_followed_to_its_end(
    monkeypatch: pytest.MonkeyPatch, target: Target, declared: dict[str, Any], steps: list[str]
) -> None:
    done: list[str] = []
    for name in ("raise_for_failed_jobs", "wait_for_start", "wait_for_training", "wait_for_serving"):
        monkeypatch.setattr(watch, name, lambda *_, name=name: done.append(name))
    monkeypatch.setattr(watch, "is_simulated", lambda api, outputs: False)
    monkeypatch.setattr(digits_demo, "predict_all", lambda api, outputs: done.append("asked"))
    monkeypatch.setattr(Target, "api", lambda self: _Api())
    run = _run(target, declared)
    _follow(run)
    assert done == ["raise_for_failed_jobs", "wait_for_start", *steps]
    assert run.follow == ("end" if steps else "start")


def test_a_stack_of_jobs_alone_is_followed_until_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make up` ends with what it finds, though no server waits for their model."""
    looked: list[str] = []
    monkeypatch.setattr(watch, "raise_for_failed_jobs", lambda api, outputs, stack: looked.append("failed"))
    monkeypatch.setattr(watch, "wait_for_start", lambda api, outputs, step: looked.append("start"))
    monkeypatch.setattr(Target, "api", lambda self: object())
    _follow(_run(Target("", Instance("test")), workloads={"digits": {"kind": "trainingJob"}}))
    assert looked == ["failed", "start"]


@pytest.mark.parametrize(
    ("changes", "unchanged"), [({"same": 3}, True), ({"same": 3, "create": 0}, True), ({"update": 1}, False)]
)
def test_the_result_ends_with_times_and_what_to_do_next(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, int], unchanged: bool
) -> None:
    monkeypatch.setattr(up, "_next_steps", lambda *_: ["Server digits-server: look"])
    run = _run(Target("", Instance("test"), stack="staging"))
    run.changes, run.outputs = changes, OUTPUTS
    up._print_result(run, {"tools": 1.25}, began=0)
    first, *table, last = cast(io.StringIO, run.console.file).getvalue().splitlines()
    assert first.split() == ["Time"]
    assert "tools 1.2 s" in [" ".join(line.split()) for line in table]
    assert ("No changes: the cluster matches Pulumi.staging.yaml." in table) == unchanged
    assert "Server digits-server: look" in table
    assert last == (
        "Next: make status STACK=staging, or change Pulumi.staging.yaml and look at make preview STACK=staging."
    )


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
    assert up._shares_cluster(Target(context, Instance("test")), settings) is expected


@pytest.mark.parametrize("answered", [True, False])
def test_the_servers_addresses_are_shown_with_and_without_the_demonstration(
    monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    predictions = digits_demo.Predictions([[0.0]], 7, [1.0], 1, 1)
    monkeypatch.setattr(digits_demo, "show", lambda console, predictions: console.print("picture"))
    console = Console(file=io.StringIO())
    up._print_server(console, {"REST": "http://d", "gRPC": "d:8500"}, predictions if answered else None)
    lines = [" ".join(line.split()) for line in cast(io.StringIO, console.file).getvalue().splitlines()]
    assert lines == ["", *(["picture"] if answered else []), "REST http://d", "gRPC d:8500", ""]
