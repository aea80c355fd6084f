"""`tensorplane run --team`: a job on what the example publishes for its team, and mistakes as a member sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tensorplane import stack
from tensorplane.cli.access import Access
from tensorplane.cli.commands.run import plan, request
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobOptions
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.stack import team_settings
from tests.support.rendering import GPU_IMAGE, PROJECT, settings_of

PYTHON = ("python", "train.py")


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("print('trained')")
    monkeypatch.chdir(tmp_path)


def _platform(**team: Any) -> Platform:
    tree = json.loads(json.dumps(settings_of(PROJECT / "examples" / "teams.yaml").tree))
    tree["teams"]["vision"] |= team
    found = json.loads(json.dumps(team_settings.tree(stack.load(Settings(tree)), "vision")))
    return Platform("dev", Settings(found), "vision", "vision")


def _planned(platform: Platform | None = None, **given: Any) -> plan.Planned:
    asked_for = {"queue": "research", "cpus": 0.1, "memory_gib": 0.25, **given}
    return plan.planned(
        request.job(None, None, PYTHON, JobOptions(**asked_for), team="vision"), platform or _platform()
    )


def _refused(platform: Platform | None = None, **given: Any) -> list[str]:
    with pytest.raises(UserError) as told:
        _planned(platform, **given)
    return list(told.value.lines)


def test_a_job_mounts_the_claims_of_its_teams_namespace() -> None:
    found = _planned(volumes=("datasets:/datasets:ro", "models:/models"), publish="digits")
    pod = found.objects[0]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    mounts = {each["mountPath"]: each.get("readOnly", False) for each in pod["containers"][0]["volumeMounts"]}
    claims = {one["persistentVolumeClaim"]["claimName"] for one in pod["volumes"] if "persistentVolumeClaim" in one}
    assert (mounts["/datasets"], mounts["/models"], claims) == (True, False, {"datasets", "models"})
    assert found.namespace == "vision"
    variables = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    folders = {name: variables[name] for name in ("MODEL_DIR", "CHECKPOINT_DIR", "TENSORBOARD_DIR")}
    assert folders == {
        "MODEL_DIR": "/models/vision/train",
        "CHECKPOINT_DIR": f"/models/vision/checkpoints/{found.run}",
        "TENSORBOARD_DIR": f"/models/vision/tensorboard/{found.run}",
    }, "on the first volume that it may write to, and not those of another team's job of this name"


def test_folders_that_a_member_names_stay(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    places = {"checkpoints": {"volume": "models", "path": "mine"}, "model": {"volume": "models", "path": "shared"}}
    file.write_text(json.dumps({"script": "train.py", "volumes": {"models": "/models"}, **places}))
    found = request.job(None, file, (), JobOptions(), team="vision").settings
    assert {key: found[key] for key in places} == places
    file.write_text(json.dumps({"script": "train.py", "checkpoints": {"volume": "models", "everySteps": 5}}))
    found = request.job(None, file, (), JobOptions(), team="vision").settings
    assert found["checkpoints"] == {"path": "vision/checkpoints", "volume": "models", "everySteps": 5}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"volumes": ("data:/data",)}, "--volume: data is no volume of team vision; choose one of datasets, models"),
        (
            {"volumes": ("datasets:/datasets",)},
            "--volume: team vision may only read volume datasets; mount it as datasets:/datasets:ro",
        ),
        (
            {"volumes": ("datasets:/datasets:ro",), "publish": "digits"},
            "--publish: digits serves from volume models, which the job does not mount; add --volume models:/models",
        ),
        (
            {"volumes": ("models:/models:ro",), "publish": "digits"},
            "--publish: is digits, but the job keeps no model; mount one of models writable",
        ),
        (
            {"packages": ("pandas==2.2.3",)},
            "--package: only the stack's own jobs get packages on this cluster; "
            "name an image that has the packages with --image instead",
        ),
        (
            {"volumes": ("models:/models",), "publish": "digit"},
            "--publish: digit is no model server that team vision may publish to; choose one of digits "
            "(did you mean digits?)",
        ),
        (
            {"workers": 2, "per_worker": 4, "accelerator": "t4", "image": GPU_IMAGE},
            "--per-worker: the job needs 8 GPUs, but team vision may hold 6; ask for 6 or fewer in all pods together",
        ),
    ],
)
def test_a_mistake_is_one_line_with_a_remedy_that_a_member_has(given: dict[str, Any], told: str) -> None:
    assert _refused(**given) == [told]


def test_mistakes_of_several_places_are_told_at_once() -> None:
    lines = _refused(queue="closed", volumes=("data:/data",), publish="digits", packages=("no such",))
    assert [line.partition(":")[0] for line in lines] == ["--queue", "--volume", "--publish", "--package"]


def test_a_team_without_volumes_is_told_so() -> None:
    none = _platform(volumes={})
    assert _refused(none, volumes=("models:/models",), publish="digits") == [
        "--volume: models is no volume of team vision; run the job without it: the team has none",
        "--publish: digits is no model server that team vision may publish to; remove it: the team can publish to none",
    ]
    assert _planned(none).namespace == "vision"


def test_a_kubeconfig_of_another_team_is_named() -> None:
    api = cast(Kube, _Published({"team": "vision"}))
    with pytest.raises(UserError) as told:
        Platform.of_team(Access(api, "vision", team="visoin"))
    assert told.value.lines == (
        "--team: your kubeconfig is that of team vision; set --team vision, or use the kubeconfig of team visoin",
    )


class _Published:
    """An API server with what a stack has published for a team."""

    def __init__(self, data: dict[str, str]) -> None:
        self._data = data

    def get(self, path: str) -> dict[str, Any]:
        return {"data": self._data}
