"""TensorBoards: what can be declared, and a pod that only tunnels reach."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import dev, problems_of
from tests.support.rendered_files import rendered_tree

EXISTING = {"kind": "existing", "context": "lab"}


def tree(**board: Any) -> dict[str, Any]:
    found = dev()
    found["workloads"]["curves"] = {"kind": "tensorboard", "logs": {"volume": "models"}, **board}
    return found


def test_it_shows_the_folder_of_training_jobs_by_default() -> None:
    rendered = rendered_tree(tree())
    pod = rendered.one("Deployment", "curves").inputs["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"][-6:] == ["--logdir", "/logs/tensorboard", "--host", "127.0.0.1", "--port", "6006"]
    (mount,) = [each for each in container["volumeMounts"] if each["mountPath"] == "/logs"]
    assert mount["readOnly"]
    assert [each.name for each in rendered.all("Service")] == ["digits-server", "digits-server-page"], (
        "tunnels end at the pod"
    )
    assert "curves" not in str([policy.inputs for policy in rendered.all("NetworkPolicy")])
    assert rendered.exports["workloads"]["curves"]["gpus"] == 0


@pytest.mark.parametrize(
    ("board", "faults"),
    [
        ({}, []),
        ({"logs": {}}, ["logs.volume: required setting is missing"]),
        ({"logs": {"volume": "model"}}, ["logs.volume: no volume is named 'model'; choose one of models"]),
        ({"logs": {"volume": "models", "path": "../up"}}, ["logs.path: invalid value '../up'"]),
        ({"resources": {"gpus": 1}}, ["resources.gpus: is 1, but TensorBoard does not use GPUs; remove it"]),
        ({"queue": "training"}, ["queue: unknown setting"]),
    ],
)
def test_what_cannot_work_is_refused(board: dict[str, Any], faults: list[str]) -> None:
    found = [line.removeprefix("tensorplane:workloads.curves.") for line in problems_of(tree(**board))]
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


def test_a_volume_with_readers_must_list_it() -> None:
    found = tree()
    found["volumes"]["models"]["readers"] = ["digits-server"]
    found["volumes"]["models"]["writers"] = ["digits"]
    (line,) = problems_of(found)
    assert line.startswith("tensorplane:workloads.curves.logs.volume: volume models does not allow curves to mount it")
    found["volumes"]["models"]["readers"].append("curves")
    assert problems_of(found) == []


def test_elsewhere_it_needs_an_image_because_the_public_one_has_no_tensorboard() -> None:
    found = tree()
    found["cluster"] = EXISTING
    (line,) = problems_of(found)
    assert line.startswith("tensorplane:workloads.curves.image: missing, but the default TensorFlow image has no")
    found["workloads"]["curves"]["image"] = "registry.example/board:1"
    assert problems_of(found) == []
