"""`onSuccess` that could not run, or could not publish, is refused with the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.stack import checks
from tests.support.problems import dev, problems_of
from tests.support.rendered_files import rendered_tree

SERVED = {"volume": "models", "path": "served/digits"}


def tree(on_success: Any, server: Any = None, **job: Any) -> dict[str, Any]:
    """The dev stack, whose server reads another folder than the job writes to."""
    found = dev()
    found["workloads"]["digits-server"]["model"] = SERVED if server is None else server
    found["workloads"]["digits"].update({"onSuccess": on_success, **job})
    return found


@pytest.mark.parametrize(
    ("settings", "faults"),
    [
        (tree({"command": ["python3", "-c", "pass"]}), []),
        (tree({"publish": "digits-server"}), []),
        (tree({"command": ["true"], "publish": "digits-server"}), []),
        (tree({}), ["empty map; use command, publish or both"]),
        (tree({"command": []}), [".command: invalid value (a list); use a list of at least 1"]),
        (tree({"comand": ["true"]}), [".comand: unknown setting; allowed here: command, publish (did you mean"]),
        (
            tree({"command": ["python3", "nothing.py"]}),
            [".command.1: 'nothing.py' is not one of `files`; add it"],
        ),
        (
            tree({"command": ["true"]}, command=["sh", "-c", "true"], script=None),
            ["is set, but 'sh' is not Python, with which the first pod notices the command's success; start the"],
        ),
        (
            tree({"publish": "digit-server"}),
            [".publish: no model server is named 'digit-server'; choose one of digits-server (did you mean"],
        ),
        (tree({"publish": "digits"}), [".publish: no model server is named 'digits'; choose one of digits-server"]),
        (
            tree({"publish": "digits-server"}, model=SERVED),
            [".publish: digits-server serves the folder of model, so it gets every version as soon as"],
        ),
    ],
)
def test_what_cannot_work_is_refused(settings: dict[str, Any], faults: list[str]) -> None:
    job = settings["workloads"]["digits"]
    settings["workloads"]["digits"] = {key: value for key, value in job.items() if value is not None}
    prefix = "tensorplane:workloads.digits.onSuccess"
    found = [line.removeprefix(prefix).removeprefix(": ") for line in problems_of(settings) if line.startswith(prefix)]
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


@pytest.mark.parametrize(
    ("mount", "reason"),
    [
        (None, "does not mount; add it to volumes"),
        ({"path": "/served", "readOnly": True}, "mounts read-only; remove readOnly"),
        ("/served", ""),
    ],
)
def test_a_server_on_another_volume_of_the_job(mount: Any, reason: str) -> None:
    settings = tree({"publish": "digits-server"}, server={"volume": "served", "path": "digits"})
    settings["volumes"]["served"] = {"sizeGib": 1}
    if mount:
        settings["workloads"]["digits"]["volumes"]["served"] = mount
    where = "tensorplane:workloads.digits.onSuccess.publish: digits-server serves from volume served, which the job"
    assert problems_of(settings) == ([f"{where} {reason}"] if reason else [])


def test_a_server_with_faults_is_no_second_fault() -> None:
    settings = tree({"publish": "digits-server"})
    settings["workloads"]["digits-server"]["replicas"] = 0
    (line,) = problems_of(settings)
    assert line.startswith("tensorplane:workloads.digits-server.replicas")


def test_the_server_of_a_published_model_waits_for_no_other_job() -> None:
    waits = "the server waits until a model appears there"
    found = [str(note) for note in checks.notes(stack.load(Settings(tree({"command": ["true"]}))))]
    assert any(waits in note for note in found)
    found = [str(note) for note in checks.notes(stack.load(Settings(tree({"publish": "digits-server"}))))]
    assert not any(waits in note for note in found)


def test_the_first_role_publishes_to_the_folder_of_the_server() -> None:
    settings = tree({"command": ["python3", "-c", "pass"], "publish": "digits-server"})
    made = rendered_tree(settings)
    (worker,) = made.one("JobSet", "digits").inputs["spec"]["replicatedJobs"]
    command = worker["template"]["spec"]["template"]["spec"]["containers"][0]["command"]
    then = ["--on-success", "3", "python3", "-c", "pass", "--publish-to", "/models/served/digits"]
    assert command[4 : 4 + len(then)] == then
