"""Jobs that were cancelled: their JobSets are deleted, so a ConfigMap in their namespace keeps what `jobs` lists.

Members of a team may create and change ConfigMaps, but not delete them: one for each namespace, with the newest ones,
needs no more. They may write anything into it, so what does not look like a job is left out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tensorplane.cli.api_values import Object
from tensorplane.cli.training_jobs.listing import Job
from tensorplane.core.kube import Kube

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NAME = "tensorplane-cancelled"
_MOST_JOBS = 20
"""Jobs that are kept in a namespace."""
_PLAIN = re.compile(r"[\w./-]*")


def note(api: Kube, job: Job) -> None:
    """Keeps a job that is being cancelled, and lets go of the oldest ones."""
    former = [one for one in read([api.get(_path(job.namespace)) or {}]) if one.run != job.run]
    _apply(api, job.namespace, job.run, {job.run: _as_json().dump_json(replace(job, state="cancelled")).decode()})
    for one in sorted(former, key=_end, reverse=True)[_MOST_JOBS - 1 :]:
        _apply(api, one.namespace, one.run, {})


def forget(api: Kube, namespace: str, run: str) -> None:
    """Lets go of a job that is submitted again."""
    if run in ((api.get(_path(namespace)) or {}).get("data") or {}):
        _apply(api, namespace, run, {})


def read(config_maps: Iterable[Object]) -> list[Job]:
    """The jobs that these ConfigMaps keep."""
    return [job for one in config_maps for job in _read(one)]


def gone(jobs: Iterable[Job], job_sets: Iterable[Object]) -> list[Job]:
    """Those of them that have no JobSet: one that is still there says more."""
    there = {(one["metadata"]["namespace"], one["metadata"]["name"]) for one in job_sets}
    return [job for job in jobs if (job.namespace, job.run) not in there]


def newest(jobs: Sequence[Job], namespace: str, name: str) -> Job | None:
    """The one that a name means: a job's, a run's, or NAMESPACE/RUN."""
    found = [job for job in jobs if name in _names(job, namespace)]
    return max(found, key=_end, default=None)


def _names(job: Job, namespace: str) -> tuple[str, ...]:
    inside = (job.name,) if job.namespace == namespace else ()
    return (*inside, job.run, f"{job.namespace}/{job.run}")


def _read(config_map: Object) -> Iterator[Job]:
    for run, text in (config_map.get("data") or {}).items():
        job = _parsed(text)
        if job is None:
            continue
        is_plain = all(map(_PLAIN.fullmatch, (job.name, job.queue or "")))
        if is_plain and all(then and then.tzinfo for then in (job.created, job.ended)):
            yield replace(job, run=run, namespace=config_map["metadata"]["namespace"], state="cancelled", flavors=())


def _parsed(text: str) -> Job | None:
    from pydantic import ValidationError

    try:
        return _as_json().validate_json(text)
    except ValidationError:
        return None


@functools.cache
def _as_json() -> TypeAdapter[Job]:
    """Reads and writes a job; made where one is, since every command about jobs imports this file."""
    from pydantic import TypeAdapter

    return TypeAdapter(Job)


def _end(job: Job) -> float:
    return job.ended.timestamp() if job.ended else 0


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{NAME}"


def _apply(api: Kube, namespace: str, run: str, data: dict[str, str]) -> None:
    """Each run has a field manager of its own, so that commands at the same time do not undo each other."""
    about = {"name": NAME, "namespace": namespace}
    thing: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data}
    api.apply(_path(namespace), thing, f"{NAME}-{run}")
