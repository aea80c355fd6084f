"""`model: {from: JOB}` is the folder to which the job publishes, or a fault of one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane import stack
from tensorplane.cli.commands.run import plan, request
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobOptions
from tensorplane.components.base.settings import Settings
from tensorplane.stack import team_settings
from tests.support.problems import dev, problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import PROJECT, settings_of
from tests.support.workload_stacks import OWN, PLATFORM, Project

TAKEN = {"kind": "modelServer", "model": {"from": "digits"}}
OTHER = {"kind": "modelServer", "model": {"volume": "models", "path": "elsewhere"}}


def _tree(on_success: Any = None, **workloads: Any) -> dict[str, Any]:
    """The dev stack, whose server takes its model from the job."""
    found = dev()
    found["workloads"]["digits-server"]["model"] = {"from": "digits"}
    found["workloads"]["digits"] |= {"onSuccess": on_success} if on_success else {}
    found["workloads"] |= workloads
    return found


def _folder(tree: dict[str, Any], server: str = "digits-server") -> str:
    folder = stack.load(Settings(tree)).models[server]
    return f"{folder.volume}:{folder.path}"


def test_without_a_gate_the_jobs_own_folder_is_served() -> None:
    assert _folder(_tree()) == "models:digits"


def test_what_passed_the_gate_is_served_from_a_folder_of_its_own() -> None:
    gated = _tree({"command": ["true"], "publish": "digits-server"}, second=TAKEN)
    assert _folder(gated) == _folder(gated, "second") == "models:published/digits"
    assert stack.load(Settings(gated)).model_names["digits-server"] == "digits"


def test_a_job_that_publishes_to_a_server_with_a_folder_publishes_there() -> None:
    assert _folder(_tree({"publish": "other"}, other=OTHER)) == "models:elsewhere"


def test_one_of_several_models_comes_from_a_job() -> None:
    several = {"kind": "modelServer", "models": {"ours": {"from": "digits"}, "theirs": OTHER["model"]}}
    tree = _tree({"publish": "several/ours"}, several=several)
    assert _folder(tree, "several/ours") == _folder(tree) == "models:published/digits"


def test_the_best_trial_of_a_sweep_is_served_once_it_is_published() -> None:
    tree = settings_of(PROJECT / "examples" / "sweep.yaml").tree
    server = {"kind": "modelServer", "model": {"from": "digits-search"}}
    assert _folder({**tree, "workloads": {**tree["workloads"], "best": server}}, "best") == "work:published/digits"


def test_job_and_server_agree_on_the_folder() -> None:
    tree = _tree({"publish": "digits-server"})
    made = rendered_tree(tree)
    assert "'--publish-to', '/models/published/digits'" in str(made.one("JobSet").inputs)
    config = made.one("ConfigMap", "digits-server-models").inputs["data"]["models.config"]
    assert 'base_path: "/models/models/published/digits"' in config


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        (
            _tree(**{"digits-server": {**TAKEN, "model": {"from": "digit"}}}),
            "no training job or sweep is named 'digit'; choose one of digits (did you mean digits?)",
        ),
        (
            _tree(**{"digits-server": {**TAKEN, "model": {"from": "digits-server"}}}),
            "no training job or sweep is named 'digits-server'; choose one of digits",
        ),
        (
            _tree({"command": ["true"]}),
            "onSuccess of digits checks a model that its command has published already; add publish: SERVER to "
            "workloads.digits.onSuccess",
        ),
    ],
)
def test_a_job_without_models_to_serve_is_refused(tree: dict[str, Any], told: str) -> None:
    (line,) = problems_of(tree)
    assert line.removeprefix("tensorplane:workloads.digits-server.model.from: ").startswith(told)


def test_a_job_that_keeps_no_model_is_refused() -> None:
    tree = _tree()
    del tree["workloads"]["digits"]["model"]
    told = "digits keeps no model; set workloads.digits.model"
    assert problems_of(tree) == [f"tensorplane:workloads.digits-server.model.from: {told}"]


def test_a_server_of_another_jobs_models_is_named() -> None:
    job = dev()["workloads"]["digits"]
    second = {**job, "model": {"volume": "models", "path": "second"}, "onSuccess": {"publish": "digits-server"}}
    (line,) = problems_of(_tree(second=second, other={**TAKEN, "model": {"from": "second"}}))
    told = "second publishes to digits-server, which serves what digits publishes; name digits"
    assert line == f"tensorplane:workloads.other.model.from: {told}"


def test_faults_of_the_job_are_told_once() -> None:
    tree = _tree()
    tree["workloads"]["digits"]["model"]["volume"] = "modls"
    assert [line.split(": ")[0] for line in problems_of(tree)] == ["tensorplane:workloads.digits.model.volume"]


def test_a_server_that_may_not_mount_the_jobs_volume_is_refused_where_it_names_the_job() -> None:
    tree = _tree()
    tree["volumes"]["models"] |= {"readers": ["other"], "writers": ["digits"]}
    assert any(line.startswith("tensorplane:workloads.digits-server.model.from: volume") for line in problems_of(tree))


def test_workload_stacks_and_persons_find_the_folder_without_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workloads = _tree({"publish": "digits-server"})["workloads"]
    project = Project(tmp_path)
    project.write("dev", {**PLATFORM, "workloads": {**PLATFORM["workloads"], **workloads}})
    project.write("vision", OWN)
    assert project.load().models["digits-server"].path == "published/digits"
    (tmp_path / "train.py").write_text("")
    monkeypatch.chdir(tmp_path)
    given = JobOptions(volumes=("models:/models",), publish="digits-server", queue="training")
    planned = plan.planned(
        request.job(None, None, ("python3", "train.py"), given),
        Platform("dev", Settings(_tree({"publish": "digits-server"}))),
    )
    assert "'--publish-to', '/models/published/digits'" in str(planned.objects[0])


def test_members_of_teams_see_the_folder_alone() -> None:
    tree = settings_of(PROJECT / "examples" / "teams.yaml").tree
    job = dev()["workloads"]["digits"]
    trained = {**job, "volumes": {"models": "/models"}, "queue": None, "checkpoints": None, "tensorboard": None}
    trained = {key: value for key, value in trained.items() if value is not None}
    found = team_settings.tree(
        stack.load(Settings({**tree, "workloads": {"digits": trained, "served": TAKEN}})), "vision"
    )
    assert found["workloads"]["served"]["model"] == {"volume": "models", "path": "digits"}
