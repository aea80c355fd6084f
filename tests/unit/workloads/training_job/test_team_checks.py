"""A stack's own job in a team's namespace: where its objects are, and what the team must have for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import PROJECT, settings_of


def _tree(**job: Any) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(json.dumps(settings_of(PROJECT / "examples" / "teams.yaml").tree))
    tree["queues"]["other"] = {"cpus": 0.1, "memoryGib": 1, "gpus": {"t4": 0}}
    tree["volumes"]["private"] = {"sizeGib": 1}
    usual = {"kind": "trainingJob", "team": "vision", "queue": "research", "strategy": {"kind": "single"}}
    tree["workloads"]["baseline"] = {**usual, "command": ["python", "-c", "pass"], **job}
    return tree


def test_its_objects_are_in_the_teams_namespace() -> None:
    tree = _tree(volumes={"models": "/models"}, resources={"cpus": 0.1, "memoryGib": 0.5})
    made = rendered_tree(tree)
    own = [each for each in made.resources if each.inputs.get("metadata", {}).get("name", "").startswith("baseline")]
    assert {each.inputs["kind"] for each in own} >= {"JobSet", "ServiceAccount", "NetworkPolicy"}
    assert {each.inputs["metadata"]["namespace"] for each in own} == {"vision"}
    (job_set,) = [each for each in own if each.inputs["kind"] == "JobSet"]
    labels = job_set.inputs["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/queue-name"] == "research"


@pytest.mark.parametrize(
    ("job", "says"),
    [
        ({"team": "visoin"}, "team: no team is named 'visoin'; choose one of vision (did you mean vision?)"),
        ({"queue": None}, "queue: missing, and a team's jobs wait in a queue; choose one of research"),
        (
            {"queue": "other"},
            "queue: other is no queue of team vision; choose one of research, or add the team to its teams",
        ),
        (
            {"volumes": {"private": "/data"}},
            "volumes.private: team vision has no volume private; "
            "choose one of datasets, models, or add it to its volumes",
        ),
        (
            {"volumes": {"datasets": "/data"}},
            "volumes.datasets: team vision may only read volume datasets; set readOnly: true",
        ),
        (
            {
                "image": "team/train:1",
                "resources": {"accelerator": "t4", "gpus": 4},
                "strategy": {"kind": "multiWorkerMirrored", "workers": 2},
            },
            "resources.gpus: the job needs 8 GPUs, but team vision may hold 6; "
            "ask for 6 or fewer in all pods together, or raise gpus of the team",
        ),
        (
            {"image": "a", "resources": {"accelerator": "t4", "gpus": 1}, "graceSeconds": 7200},
            "graceSeconds: is 7200, and a team's pods hold their GPUs meanwhile; set 3600 or less",
        ),
    ],
)
def test_what_the_team_does_not_have_is_refused(job: dict[str, Any], says: str) -> None:
    tree = _tree(**{"resources": {"cpus": 0.1, "memoryGib": 0.5}, **job})
    tree["workloads"]["baseline"] = {key: value for key, value in tree["workloads"]["baseline"].items() if value}
    assert f"tensorplane:workloads.baseline.{says}" in problems_of(tree)
