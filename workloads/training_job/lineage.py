"""The job's part of a published model's lineage, in variables that tensorplane's library reads."""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from tensorplane.workloads.pods import pod
from tensorplane.workloads.training_job.run import Decisive
from tensorplane.workloads.training_job.settings import JobSettings, SecretKey

_VARIABLE = "TENSORPLANE_LINEAGE"
_NODE = "TENSORPLANE_NODE"
_ELSEWHERE = {"files", "script", "args", "image", "env"}
"""Settings whose values are recorded in another form: the files are kept with the model, and values may be secret."""
_EMPTY: Mapping[str, Any] = MappingProxyType({})


def variables(
    job: str,
    run: str,
    decisive: Decisive,
    settings: Mapping[str, Any] = _EMPTY,
    reproduces: Mapping[str, Any] = _EMPTY,
) -> list[dict[str, Any]]:
    """The variable, from parts that decide the run: image, a digest of the files, volumes and streams.

    `settings`: what `settings_of` returns; `reproduces`: of the model's version that the job makes again.
    """
    parts = decisive.parts
    record = {
        "job": job,
        "run": run,
        "image": parts["image"],
        "code": parts["code"],
        "data": {name: value for name, value in parts["data"].items() if value},
        "settings": settings,
        "packages": decisive.hashes.get("packages"),
        "reproduces": reproduces,
    }
    return pod.variables({_VARIABLE: json.dumps({name: value for name, value in record.items() if value})})


def node() -> dict[str, Any]:
    """The variable with the name of the pod's node."""
    return {"name": _NODE, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}


def settings_of(settings: JobSettings, in_secret: Collection[str], secret: str | None) -> dict[str, Any]:
    """A job's settings as below `workloads: NAME:`, without its files, and without those that have their defaults.

    Values in a Secret are references to it, as the settings themselves may have them.
    """
    fields = set(JobSettings.model_fields) - _ELSEWHERE
    found: dict[str, Any] = settings.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=fields)
    found["command"] = settings.program
    found["strategy"] = {"kind": settings.strategy.kind, **found.get("strategy", {})}
    _spell_alike(found)
    # It neither decides the result nor is in the job's objects, which are replaced if they change.
    found.get("checkpoints", {}).pop("saveSeconds", None)
    env = {
        name: {"secret": secret, "key": name} if name in in_secret else _plain(value)
        for name, value in sorted(settings.env.items())
    }
    return dict(sorted({**found, **({"env": env} if env else {})}.items()))


def _spell_alike(tree: Any) -> None:
    """A list of one accelerator is the accelerator itself: other words for the same must not be another job."""
    if isinstance(tree, dict):
        if isinstance(one := tree.get("accelerator"), str):
            tree["accelerator"] = [one]
        for each in tree.values():
            _spell_alike(each)


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, SecretKey) else value
