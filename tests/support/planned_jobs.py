"""Jobs for tests of `plan`, and what is in the manifests that it makes."""

from __future__ import annotations

from typing import Any

from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.settings import JobSettings

IMAGE = "team/train:1"
SETTINGS = {"command": ["python3", "train.py"], "strategy": {"kind": "multiWorkerMirrored", "workers": 2}}


def job_context(*roles: str, **known: Any) -> JobContext:
    return JobContext("trial-7", "ml", placement={role: Placement() for role in roles or ("worker",)}, **known)


def planned(known: JobContext | None = None, **settings: Any) -> JobManifest:
    return plan(JobSettings.model_validate({**SETTINGS, **settings}), known or job_context(), image=IMAGE)


def job(manifest: JobManifest, role: str = "worker") -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = (each for each in manifest.job_set["spec"]["replicatedJobs"] if each["name"] == role)
    return found


def container(manifest: JobManifest, role: str = "worker") -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = job(manifest, role)["template"]["spec"]["template"]["spec"]["containers"]
    return found


def variables(manifest: JobManifest, role: str = "worker") -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container(manifest, role)["env"]}
