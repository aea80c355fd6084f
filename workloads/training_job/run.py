"""The run of a job: the same one until a setting changes that decides its result."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorplane.components.base.names import digest_of
from tensorplane.workloads.pods import mounts
from tensorplane.workloads.pods.files import Bundle, bundle
from tensorplane.workloads.pods.objects import Manifest
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.settings import JobSettings


@dataclass(frozen=True)
class Recorded:
    """A job's run as the last deployment recorded it."""

    name: str
    decisive: Mapping[str, str] | None = None
    """Hashes of the parts that decide the result; None for a run from a version that did not record them."""
    manifest: str = ""
    """Hash of its JobSet, without the library."""
    is_kept: bool = False
    """Whether its JobSet stays as it is deployed: nothing differs but tensorplane's library, if that."""
    library: str | None = None
    """Pulumi's name of the ConfigMap with the library that its pods mount; None for a run from a version that did not
    record it."""


@dataclass(frozen=True)
class Decisive:
    """The parts that decide the result of a run; not its size, placement or time."""

    parts: Mapping[str, Any] = field(default_factory=dict)
    """Plain values by part: command, code, environment, image, strategy, data, model, attempt."""

    @property
    def hashes(self) -> dict[str, str]:
        """A short hash of each part that is set."""
        return {name: digest_of(value) for name, value in sorted(self.parts.items()) if value}

    def with_environment(self, variables: Sequence[Mapping[str, Any]]) -> "Decisive":
        """The same with these variables."""
        return Decisive({**self.parts, "environment": variables})

    def name(self, job: str) -> str:
        """The name of a new run of the job."""
        return f"{job}-{digest_of(self.hashes)}"


def decisive(
    settings: JobSettings, context: JobContext, image: str, variables: Sequence[Mapping[str, Any]]
) -> Decisive:
    """The parts that decide the result. Secret values count by the Secret's name, because a hash could be guessed."""
    return Decisive(
        {
            "command": settings.program,
            "code": bundle("code", context.files).name if context.files else None,
            "environment": variables,
            "image": image,
            "strategy": settings.strategy.kind,
            "data": {
                "volumes": {
                    name: mounts.path_of(name, settings.volumes, context.volumes) for name in sorted(settings.volumes)
                },
                "streams": {name: use.model_dump() for name, use in sorted(settings.streams.items())},
            },
            "model": settings.model and settings.model.model_dump(),
            "checkpoints": settings.checkpoints and settings.checkpoints.model_dump(include={"volume", "path"}),
            # Parts that are not set must not change the name.
            "attempt": settings.attempt if settings.attempt > 1 else None,
            "dataService": settings.strategy.data_service is not None,
            "packages": sorted(context.packages),
            **settings.strategy.decisive(),
        }
    )


def of(job: str, decisive: Decisive, recorded: Recorded | None) -> str:
    """The name of the run: the recorded one, unless a deciding part has changed."""
    if recorded and recorded.decisive in (None, decisive.hashes):
        return recorded.name
    return decisive.name(job)


def hash_of(job_set: Manifest, library: Bundle) -> str:
    """A hash of a JobSet that does not depend on the library's content and list of files."""
    text = json.dumps(job_set, sort_keys=True)
    for of_library in (library.name, library.items):
        text = text.replace(json.dumps(of_library, sort_keys=True), "")
    return digest_of(text)


def keeps(name: str, manifest: str, recorded: Recorded | None) -> bool:
    """Whether a JobSet stays as it is deployed, with the library that it mounts.

    A JobSet is immutable, so a new library would replace it: a running gang would restart for an update of tensorplane,
    and a finished run would start again. It is kept until a setting changes, as is one of a version that did not record
    runs.
    """
    if recorded is None or recorded.name != name:
        return False
    return recorded.decisive is None or recorded.manifest == manifest


def library_of(recorded: Recorded, job: str) -> str:
    """Pulumi's name of the ConfigMap with the library that the pods of a kept run mount."""
    if recorded.library:
        return recorded.library
    # Versions that did not record runs had one for each job.
    return f"{job}-runtime" if recorded.decisive is None or recorded.is_kept else "tensorplane-library"
