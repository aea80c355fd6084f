"""`tensorplane tensorboard`: the pod that shows the runs of a training job."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.tensorboard import command as tensorboard
from tensorplane.core.errors import UserError


def _job_set(*env: dict[str, str]) -> dict[str, Any]:
    container = {"image": "train:1", "env": env, "volumeMounts": [{"name": "models", "mountPath": "/models"}]}
    spec = {
        "containers": [container],
        "volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}],
        "serviceAccountName": "train",
    }
    job = {"name": "worker", "template": {"spec": {"completions": 1, "template": {"spec": spec}}}}
    about = {"name": "train-1a2b", "namespace": "ml", "labels": {"app.kubernetes.io/name": "train"}}
    return {"metadata": about, "spec": {"replicatedJobs": [job]}}


FOLDER = {"name": "TENSORBOARD_DIR", "value": "/models/tensorboard/train-1a2b"}


def test_it_shows_all_runs_of_the_jobs_folder_and_names_this_one() -> None:
    pod = tensorboard.of_job(_job_set(FOLDER))
    (container,) = pod["spec"]["containers"]
    assert container["command"][-6:] == ["--logdir", "/models/tensorboard", "--host", "127.0.0.1", "--port", "6006"]
    assert container["readinessProbe"]
    assert {"name": "models", "mountPath": "/models", "readOnly": True} in container["volumeMounts"]
    assert pod["metadata"]["annotations"] == {"tensorplane.dev/run": "train-1a2b"}
    assert pod["spec"]["serviceAccountName"] == "train"
    assert pod["spec"]["activeDeadlineSeconds"] > 3600, "a command that was killed leaves no pod for ever"


@pytest.mark.parametrize(("image", "used"), [(None, "train:1"), ("board:2", "board:2")])
def test_another_image_may_have_tensorboard(image: str | None, used: str) -> None:
    assert tensorboard.of_job(_job_set(FOLDER), image)["spec"]["containers"][0]["image"] == used


def test_a_job_without_event_files_has_none_to_show() -> None:
    with pytest.raises(UserError, match=r"^train-1a2b: writes no event files; set `tensorboard: \{volume: …\}` in its"):
        tensorboard.of_job(_job_set())
