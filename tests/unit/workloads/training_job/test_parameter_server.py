"""The JobSet of a parameter-server job: what each role runs, what restarts what, and what ends the job."""

from __future__ import annotations

import json
from typing import Any

from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.settings import JobSettings


def _manifest(**strategy: Any) -> JobManifest:
    settings = JobSettings.model_validate(
        {
            "command": ["python3", "train.py", "--ps=$(TF_PS_HOSTS)"],
            "strategy": {"kind": "parameterServer", "workers": 3, "servers": 2, **strategy},
            "resources": {"gpus": 1},
            "maxRestarts": 4,
        }
    )
    everywhere = {role.name: Placement() for role in settings.roles()}
    return plan(settings, JobContext("ads", "ml", placement=everywhere), image="train:1")


def _jobs(manifest: JobManifest) -> dict[str, Any]:
    return {job["name"]: job["template"]["spec"] for job in manifest.job_set["spec"]["replicatedJobs"]}


def _container(job: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = job["template"]["spec"]["containers"][0]
    return container


def test_only_the_chief_runs_the_command_and_decides() -> None:
    manifest = _manifest()
    jobs = _jobs(manifest)
    assert {name: job["completions"] for name, job in jobs.items()} == {"chief": 1, "worker": 3, "ps": 2}
    assert manifest.job_set["spec"]["successPolicy"]["targetReplicatedJobs"] == ["chief"]
    runs = {name: _container(job)["command"][4:] for name, job in jobs.items()}
    assert runs["chief"][:2] == ["python3", "train.py"]
    server = ["python3", "-I", "/opt/tensorplane/lib/tensorplane.zip", "parameter_server.server"]
    assert runs["worker"] == runs["ps"] == server


def test_every_task_has_the_same_cluster() -> None:
    for name, job in _jobs(_manifest()).items():
        (text,) = (each["value"] for each in _container(job)["env"] if each["name"] == "TF_CONFIG")
        config = json.loads(text.replace("$(TF_TASK_INDEX)", "0"))
        assert {kind: len(found) for kind, found in config["cluster"].items()} == {"chief": 1, "worker": 3, "ps": 2}
        assert config["task"] == {"type": name, "index": 0}


def test_a_lost_worker_is_replaced_alone_and_the_loss_of_others_restarts_the_gang() -> None:
    jobs = _jobs(_manifest())
    assert jobs["worker"]["backoffLimitPerIndex"] == 4
    assert [jobs[name]["backoffLimit"] for name in ("chief", "ps")] == [0, 0]
    assert "backoffLimit" not in jobs["worker"]


def test_only_workers_have_gpus() -> None:
    limits = {name: _container(job)["resources"]["limits"] for name, job in _jobs(_manifest()).items()}
    assert [name for name, limit in limits.items() if "nvidia.com/gpu" in limit] == ["worker"]


def test_between_graph_every_pod_runs_the_command_and_the_workers_decide() -> None:
    manifest = _manifest(mode="betweenGraph")
    jobs = _jobs(manifest)
    assert set(jobs) == {"worker", "ps"}
    assert manifest.job_set["spec"]["successPolicy"]["targetReplicatedJobs"] == ["worker"]
    assert all(_container(job)["command"][4:6] == ["python3", "train.py"] for job in jobs.values())
    assert manifest.run.name != _manifest().run.name


def test_more_workers_and_servers_are_the_same_run() -> None:
    assert _manifest(workers=5, servers=4).run.name == _manifest().run.name
