"""Models that servers take `from` a job: the folders to which jobs publish them."""

from collections.abc import Mapping
from typing import TypeVar

from tensorplane.components.base.problems import did_you_mean
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.model_server.settings import ServedModel, ServerSettings
from tensorplane.workloads.pods.mounts import Location
from tensorplane.workloads.training_job.settings import JobSettings

W = TypeVar("W", bound=WorkloadArgs)

_PUBLISHED = "published"
"""The folder on the volume of a job's `model` with what passed its `onSuccess`, at the same path."""


def folder(job: str, workloads: Mapping[str, WorkloadArgs]) -> Location | str:
    """Where a job publishes its models, or why a server cannot take them."""
    workload = workloads.get(job)
    if workload is None or (trained := workload.trained) is None:
        known = [name for name, one in workloads.items() if one.trained]
        remedy = f"choose one of {', '.join(sorted(known))}{did_you_mean(job, known)}" if known else "declare one"
        return f"no training job or sweep is named {job!r}; {remedy}"
    is_sweep = not isinstance(workload, JobSettings)
    if trained.model is None:
        at = f"workloads.{job}.trial.model" if is_sweep else f"workloads.{job}.model"
        return f"{job} keeps no model; set {at}"
    passed = Location(volume=trained.model.volume, path=f"{_PUBLISHED}/{trained.model.path}")
    if is_sweep:
        # Each trial keeps its model in a folder of its own, and `tensorplane sweep --publish` copies the best one's.
        return passed
    return _of_job(job, trained, passed, workloads) if trained.on_success else trained.model


def _of_job(job: str, trained: JobSettings, passed: Location, workloads: Mapping[str, WorkloadArgs]) -> Location | str:
    """The folder of the server to which a job publishes; `passed` if that server takes it from this job."""
    target = trained.on_success.publish if trained.on_success else None
    if target is None:
        reason = f"onSuccess of {job} checks a model that its command has published already"
        return f"{reason}; add publish: SERVER to workloads.{job}.onSuccess"
    if (model := served(target, workloads)) is None:
        return passed
    if model.from_job in (None, job):
        return passed if model.from_job else model.location or passed
    return f"{job} publishes to {target}, which serves what {model.from_job} publishes; name {model.from_job}"


def served(target: str, workloads: Mapping[str, WorkloadArgs]) -> ServedModel | None:
    """The model of a server, by `SERVER` or `SERVER/MODEL`; None if there is none."""
    server, _, model = target.partition("/")
    found = workloads.get(server)
    if not isinstance(found, ServerSettings):
        return None
    if not model and len(found.served) == 1:
        (only,) = found.served.values()
        return only
    return found.served.get(model)


def resolved(workloads: Mapping[str, W]) -> dict[str, W]:
    """The workloads with the folders of jobs in place of their names. A name without one stays: checks refuse it."""
    return {name: _resolved(one, workloads) for name, one in workloads.items()}


def _resolved(workload: W, workloads: Mapping[str, WorkloadArgs]) -> W:
    if not isinstance(workload, ServerSettings) or not any(one.from_job for one in workload.served.values()):
        return workload
    models = {name: _located(one, workloads) for name, one in workload.models.items()}
    return workload.model_copy(
        update={"model": workload.model and _located(workload.model, workloads), "models": models}
    )


def _located(model: ServedModel, workloads: Mapping[str, WorkloadArgs]) -> ServedModel:
    found = folder(model.from_job, workloads) if model.from_job else None
    return model.at(found) if isinstance(found, Location) else model
