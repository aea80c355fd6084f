"""Whether an update may restart the run of a training job. Only a preview shows which, and it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_JOB = "tensorplane:index:TrainingJob"
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"

SECTIONS = ("cluster", "gpuRuntime", "nodeGroups", "queues", "streams", "volumes", "workloads")
"""The settings that training jobs depend on."""


def has_jobs(export: Mapping[str, Any]) -> bool:
    """Whether a training job is deployed. `export` is what `pulumi stack export` prints."""
    return bool(list(_jobs(export)))


def code_differs(export: Mapping[str, Any], workloads: Mapping[str, Any]) -> bool:
    """Whether a deployed job's own files differ from this machine's. Another library of tensorplane restarts nothing.

    `workloads` are those of the settings.
    """
    # Imported only here: the module is loaded before the packages of the settings are installed.
    from workloads.pods import sources
    from workloads.pods.files import bundles, of_script

    deployed = {one["inputs"]["metadata"]["name"] for one in _resources(export) if one["type"] == _CONFIG_MAP}
    for job in _jobs(export):
        settings = workloads.get(job)
        given: Mapping[str, Any] = settings if isinstance(settings, dict) else {}
        files, script = given.get("files") or {}, given.get("script") or ""
        if not all(isinstance(source, str) for source in (script, *files.values())):
            return True  # encrypted: the engine alone can read it
        contents = sources.read({**(of_script(script) if script else {}), **files})
        if not {one.name for one in bundles(f"{job}-files", contents)} <= deployed:
            return True
    return False


def _jobs(export: Mapping[str, Any]) -> Iterator[str]:
    return (one["urn"].rpartition("::")[2] for one in _resources(export) if one["type"] == _JOB)


def _resources(export: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in export["deployment"].get("resources") or () if not one.get("delete"))
