"""Events of previews of a training job, as the engine streams them, made of what its plan would deploy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.pods.streams import Client
from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.settings import JobSettings

Event = dict[str, Any]

SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_SETTINGS: Mapping[str, Any] = {
    "command": ["python3", "train.py"],
    "strategy": {"kind": "multiWorkerMirrored", "workers": 2},
    "env": {"STEPS": "600", "SEED": "1"},
    "volumes": {"models": None},
    "checkpoints": {"volume": "models"},
}


def planned(before: JobManifest | None = None, **changed: Any) -> JobManifest:
    """The job of a stack with these settings, by default one with checkpoints; those that are None are left out."""
    facts = {key: changed.pop(key) for key in ("image", "files", "in_secret", "secret", "placement") if key in changed}
    settings = {key: value for key, value in {**_SETTINGS, **changed}.items() if value is not None}
    return plan(
        JobSettings.model_validate(settings),
        JobContext(
            "digits",
            "ml",
            placement={"worker": facts.get("placement", Placement())},
            volumes={"models": Mountable("models", "/models")},
            streams={name: Client("broker:9092", ["clicks"], {}, "trainer") for name in settings.get("streams", ())},
            files=facts.get("files", {}),
            in_secret=facts.get("in_secret", ()),
        ),
        image=facts.get("image", "team/train:1"),
        secret=facts.get("secret"),
        recorded=before.run if before else None,
    )


def events(before: JobManifest | None, after: JobManifest | None) -> list[Event]:
    """The steps for the job and its JobSet."""
    old, new = (_states(manifest) for manifest in (before, after))
    operation = "replace" if before and after else "create" if after else "delete"
    changed = operation if before is None or after is None or before.job_set != after.job_set else "same"
    of_job = "update" if operation == "replace" else operation
    return [
        _event("resourcePreEvent", of_job, "tensorplane:index:TrainingJob", old["job"], {**new["job"], "outputs": {}}),
        _event("resourcePreEvent", changed, "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet", old["set"], new["set"]),
        _event("resOutputsEvent", of_job, "tensorplane:index:TrainingJob", old["job"], new["job"]),
    ]


def secret(*paths: str, operation: str = "replace") -> Event:
    """The step for the Secret of the job's variables."""
    inputs = {"inputs": {"stringData": SECRET}}
    event = _event("resourcePreEvent", operation, "kubernetes:core/v1:Secret", inputs, inputs, "digits-env")
    event["resourcePreEvent"]["metadata"]["detailedDiff"] = {path: {"diffKind": "update-replace"} for path in paths}
    return event


def files() -> Event:
    """The step for the ConfigMap of the job's files."""
    return _event("resourcePreEvent", "replace", "kubernetes:core/v1:ConfigMap", {}, {}, "digits-files")


def hidden(events: list[Event], value: Any) -> list[Event]:
    """The same where the engine does not show what is new of the run: SECRET or UNKNOWN."""
    job, job_set, told = events
    inputs = {**job_set["resourcePreEvent"]["metadata"]["new"]["inputs"], "spec": value}
    if value == UNKNOWN:
        inputs["metadata"] = {**inputs["metadata"], "name": value}
    new = {"inputs": inputs}
    told = _with_new(told, {**told["resOutputsEvent"]["metadata"]["new"], "outputs": {"run": value}})
    return [job, _with_new(job_set, new), told]


def _with_new(event: Event, new: Mapping[str, Any]) -> Event:
    return {kind: {"metadata": {**inside["metadata"], "new": new}} for kind, inside in event.items()}


def _states(manifest: JobManifest | None) -> dict[str, Any]:
    if manifest is None:
        return {"job": {}, "set": {}}
    run = manifest.run
    outputs = {"jobSet": run.name, "run": {"name": run.name, "decisive": run.decisive}}
    job = {"inputs": {"strategy": "multiWorkerMirrored"}, "outputs": outputs}
    return {"job": job, "set": {"inputs": manifest.job_set}}


def _event(kind: str, operation: str, token: str, old: Any, new: Any, name: str = "digits") -> Event:
    parent = "" if token.startswith("tensorplane:") else "tensorplane:index:TrainingJob$"
    urn = f"urn:pulumi:dev::tensorplane::{parent}{token}::{name}"
    states = {"old": old or None, "new": new or None}
    return {kind: {"metadata": {"op": operation, "urn": urn, "type": token, "detailedDiff": None, **states}}}
