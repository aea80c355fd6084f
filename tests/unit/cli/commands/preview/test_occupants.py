"""Who may run on a node group, and who takes its GPUs without a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorplane.cli.commands.preview import occupants
from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.report import Components, Outputs, Report
from tests.hosts.preview_events import group, queue

LABELS = {"tensorplane.dev/accelerator": "t4", "tensorplane.dev/flavor": "t4"}
T4 = group("t4", "g4dn.xlarge", (0, 20), gpusMax=20, labels=LABELS, taints=["nvidia.com/gpu=present:NoSchedule"])
CPU = group("none", "m7i.2xlarge", (2, 10), labels={"tensorplane.dev/flavor": "cpu"})
RESEARCH, OTHERS = queue("low", {"t4": (4, 0, 4)}), queue("high", {"h100": (4, 0, 4)})
TOLERATES = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
JOB = Pods("tensorplane:index:TrainingJob", "digits", "digits", "research", gpus=1)
SERVER = Pods("tensorplane:index:ModelServer", "server", "server", gpus=1, spec=TOLERATES)
REPORT = Report(
    "prod",
    components={
        "tensorplane:index:NodeGroup": {"old": (T4, T4), "cpu": (CPU, CPU)},
        "tensorplane:index:Queue": {"research": (RESEARCH, RESEARCH), "others": (OTHERS, OTHERS)},
    },
)


def _with(*pods: Pods) -> Report:
    return replace(REPORT, pods_before=pods, pods_after=pods)


@pytest.mark.parametrize(
    ("pods", "here"),
    [
        (JOB, ["training job digits"]),
        (SERVER, ["model server server"]),
        (replace(JOB, queue="others"), []),
        (replace(JOB, gpus=0), []),
        (replace(SERVER, spec={}), []),
        (replace(JOB, spec={"nodeSelector": {"tensorplane.dev/accelerator": "l4"}}), []),
        (replace(JOB, kind=""), []),
    ],
)
def test_a_group_has_the_pods_that_its_queues_nodes_and_taints_allow(pods: Pods, here: list[str]) -> None:
    assert occupants.of_group(_with(pods), "old") == here


def test_pods_that_another_program_makes_may_run_on_any_gpus_of_their_queue() -> None:
    dag = {"train": {"queue": "research"}}
    components = {**REPORT.components, "tensorplane:index:Pipeline": {"daily": ({}, {"gpus": 1, "dag": dag})}}
    report = replace(REPORT, components={**components, "tensorplane:index:Sweep": {"best": ({"gpus": 2}, {"gpus": 2})}})
    assert occupants.of_group(report, "old") == ["sweep best"], "the pipeline is new"
    assert occupants.unqueued(report, "t4") == ["sweep best"], "the pipeline is in a queue"


def test_only_pods_without_a_queue_are_outside_of_quota() -> None:
    assert occupants.unqueued(_with(JOB, SERVER), "t4") == ["model server server"]
    assert occupants.unqueued(_with(JOB, SERVER), "cpu") == []


def test_who_loses_a_group_is_named_with_what_is_not_known() -> None:
    said = occupants.fate(_with(JOB), "old")
    assert said.startswith(
        "Of this stack, training job digits may run there; so may jobs that people submitted to queue research. "
        "Jobs keep their quota and start again on t4 nodes, from a checkpoint if they write one. Pods without a "
        "queue may"
    )
    guarded = replace(REPORT, admission=("prod-pods-with-gpus",))
    said = occupants.fate(guarded, "old")
    assert said.startswith("No workload of this stack runs there; jobs that people submitted to queue research may. ")
    assert said.endswith("The stack's namespaces admit no other pods with GPUs")
    assert occupants.fate(REPORT, "cpu") == (
        "No workload of this stack runs there. Other pods start again elsewhere if a controller, such as a Deployment, "
        "has them"
    )


@pytest.mark.parametrize(
    ("agent", "when"), [({"a": ({}, {})}, "after a minute or more"), ({}, "once its waitForPodsReady times out")]
)
def test_jobs_admitted_to_a_flavor_that_no_group_has_any_more_wait_for_another(
    agent: dict[str, tuple[Outputs, Outputs]], when: str
) -> None:
    l4 = {**T4, "labels": {"tensorplane.dev/accelerator": "l4", "tensorplane.dev/flavor": "l4"}}
    groups: Components = {"tensorplane:index:NodeGroup": {"old": (T4, l4)}, "tensorplane:index:QuotaReturn": agent}
    said = occupants.fate(replace(_with(JOB), components={**REPORT.components, **groups}), "old")
    assert f"they are evicted {when}, then wait for another flavor" in said
    assert "Jobs that require t4 never start again" in said


def test_who_stops_is_named_with_jobs_that_people_submitted() -> None:
    submitted = "jobs that people submitted to queue research and that run there"
    assert occupants.whose(_with(JOB), "old") == f"{submitted}, training job digits"
    assert occupants.whose(REPORT, "old") == f"{submitted}, no workload declared in this stack"


def test_a_job_that_requires_what_no_group_has_is_stranded() -> None:
    picky = replace(JOB, spec={"nodeSelector": {"tensorplane.dev/accelerator": "t4"}})
    l4 = {**T4, "labels": {"tensorplane.dev/accelerator": "l4", "tensorplane.dev/flavor": "l4"}}
    components = {**REPORT.components, "tensorplane:index:NodeGroup": {"old": (T4, l4)}}
    changed = replace(_with(picky, SERVER), components=components)
    assert occupants.stranded(changed, "t4") == ["training job digits"]
