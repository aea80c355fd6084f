"""Notebooks: what can be declared, and the job that runs one."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.cli.commands.notebook import command as notebook_command
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tests.support.problems import dev, problems_of
from tests.support.rendered_files import rendered_tree

IMAGE = "registry.example/lab:1"


def tree(**notebook: Any) -> dict[str, Any]:
    found = dev()
    found["workloads"]["desk"] = {
        "kind": "notebook",
        "image": IMAGE,
        "volumes": {"models": "/models"},
        "folder": {"volume": "models", "path": "notebooks"},
        "queue": "training",
        "resources": {"cpus": 0.5, "memoryGib": 1},
        **notebook,
    }
    return found


def _planned(settings: dict[str, Any]) -> Any:
    return notebook_command.planned(stack.load(Settings(settings)), "desk")


def test_its_job_waits_in_the_queue_and_ends_when_it_is_idle() -> None:
    job_set = _planned(tree(idleMinutes=30)).manifest.job_set
    assert job_set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training"
    (role,) = job_set["spec"]["replicatedJobs"]
    pod = role["template"]["spec"]["template"]["spec"]
    command = pod["containers"][0]["command"]
    assert "--ServerApp.ip=127.0.0.1" in command, "only tunnels reach it"
    assert "--ServerApp.shutdown_no_activity_timeout=1800" in command
    assert "--MappingKernelManager.cull_idle_timeout=1800" in command
    assert "--MappingKernelManager.cull_connected=True" in command


def test_the_token_is_a_reference_to_a_secret_that_no_manifest_has() -> None:
    planned = _planned(tree())
    env = planned.manifest.job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    (token,) = [each for each in env["env"] if each["name"] == "JUPYTER_TOKEN"]
    assert token["valueFrom"] == {"secretKeyRef": {"name": "desk-token", "key": "token"}}
    assert "Secret" not in {each["kind"] for each in planned.objects}


def test_an_update_declares_it_and_starts_nothing() -> None:
    rendered = rendered_tree(tree())
    assert [one.name for one in rendered.resources if one.name.startswith("desk")] == ["desk"]
    assert rendered.one("Notebook", "desk").inputs["queue"] == "training"


@pytest.mark.parametrize(
    ("notebook", "faults"),
    [
        ({}, []),
        ({"image": None}, ["packages: has no jupyterlab, which the pod runs; add it, such as jupyterlab=="]),
        ({"image": None, "packages": ["jupyterlab==4.6.6"]}, ["packages: not in packages.lock; run: tensorplane"]),
        ({"folder": {"volume": "other", "path": "x"}}, ["folder.volume: no volume is named 'other'"]),
        ({"volumes": {"models": {"path": "/models", "readOnly": True}}}, ["folder.volume: volume models is mounted"]),
        ({"queue": "trainin"}, ["queue: no queue is named 'trainin'"]),
        ({"resources": {"cpus": 9}}, ["queue: 1 worker pod of 9 CPUs, 2 GiB would never start"]),
        ({"env": {"JUPYTER_TOKEN": "x"}}, ["env.JUPYTER_TOKEN: is the token of each start, in a Secret; remove it"]),
        ({"idleMinutes": 0}, ["idleMinutes: "]),
    ],
)
def test_what_cannot_work_is_refused(notebook: dict[str, Any], faults: list[str]) -> None:
    settings = tree(**notebook)
    settings["workloads"]["desk"] = {k: v for k, v in settings["workloads"]["desk"].items() if v is not None}
    found = [line.removeprefix("tensorplane:workloads.desk.") for line in problems_of(settings)]
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


def test_in_a_queue_that_borrows_it_needs_no_checkpoints() -> None:
    settings = tree()
    settings["queues"]["training"]["mayBorrow"] = {"cpu": 1}
    assert [line for line in problems_of(settings) if "checkpoints" in line and "desk" in line] == []


def test_encrypted_settings_are_refused_because_nobody_decrypts_them() -> None:
    keys = ["tensorplane:workloads.desk.env.KEY", "tensorplane:workloads.digits.env.KEY"]
    with pytest.raises(UserError) as refused:
        notebook_command.check_readable("desk", keys)
    assert [line.split(": ")[0] for line in refused.value.lines] == keys[:1]
    notebook_command.check_readable("desk", keys[1:])


def test_an_unknown_notebook_names_those_there_are() -> None:
    with pytest.raises(
        UserError, match=r"dsk: the stack declares no such notebook; it has desk \(did you mean desk\?\)"
    ):
        notebook_command.planned(stack.load(Settings(tree())), "dsk")
