"""The line on what an update interrupts: each thing that stops, and nothing else."""

from __future__ import annotations

import pytest

from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.report import Change, Property, Report

POOL = "aws:eks/nodeGroup:NodeGroup"


def _line(*changes: Change, **components: tuple[dict[str, int], dict[str, int]]) -> str:
    """What a report with these changes says; `components` by type, each with the name `a`."""
    registered = {f"tensorplane:index:{kind}": {"a": both} for kind, both in components.items()}
    text = render.markdown(Report("prod", changes=changes, components=registered))
    (line,) = [line for line in text.splitlines() if line.startswith("**Interrupts")]
    return line


def _updated(kind: str, path: str, name: str = "a") -> Change:
    return Change("update", kind, name, (Property(path, "1", "2", False),))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_updated("apps/v1:Deployment", "spec.template.spec.containers[0].image"), "the pods of a"),
        (
            _updated("apps/v1:Deployment", "spec.template.spec.volumes[0].configMap.name", "a-rollout"),
            "the controller of a's rollouts, which serves no requests",
        ),
        (Change("replace", "jobset.x-k8s.io/v1alpha2:JobSet", "a"), "the run of a"),
        (Change("replace", POOL, "a"), "every pod on node group a (no workload declared in this stack)"),
        (_updated(POOL, "version"), "pods on nodes of NodeGroup a"),
        (_updated("helm.sh/v3:Release", "version"), "the pods of Helm release a"),
    ],
)
def test_what_stops_is_named(change: Change, says: str) -> None:
    assert _line(change) == f"**Interrupts:** {says}."


@pytest.mark.parametrize(
    "change",
    [
        _updated("apps/v1:Deployment", "spec.replicas"),
        _updated(POOL, "scalingConfig.maxSize"),
        _updated("aws:eks/addon:Addon", "addonVersion"),
        Change("create", "jobset.x-k8s.io/v1alpha2:JobSet", "a"),
        Change("create", POOL, "a"),
        Change("replace", "core/v1:ConfigMap", "a"),
    ],
)
def test_what_stops_nothing_is_not_named(change: Change) -> None:
    assert _line(change) == "**Interrupts:** nothing."


def test_a_deleted_job_is_named_once() -> None:
    change = Change("delete", "jobset.x-k8s.io/v1alpha2:JobSet", "a")
    assert _line(change, TrainingJob=({"gpus": 1}, {})) == "**Interrupts:** training job a (deleted)."


def test_a_preview_that_fails_before_the_first_change_says_nothing_of_it() -> None:
    assert "Interrupts" not in render.markdown(Report("prod", failed=True))
