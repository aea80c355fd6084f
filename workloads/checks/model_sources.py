"""Models that come `from` a job which publishes none."""

from collections.abc import Iterator, Mapping

from components.base.faults import Fault, Key
from workloads import model_sources
from workloads.base import WorkloadArgs
from workloads.settings.model_server import ServerSettings


def faults(workloads: Mapping[Key, WorkloadArgs], declared: frozenset[str]) -> Iterator[Fault]:
    """A fault for each name that means no folder. `declared`: names of all workloads, those that failed validation
    included, of which nothing is concluded."""
    by_name = {at[-1]: one for at, one in workloads.items()}
    for at, server in workloads.items():
        if not isinstance(server, ServerSettings):
            continue
        for name, model in server.served.items():
            job = model.from_job
            if job is None or model.location or (job in declared and job not in by_name):
                continue
            reason = model_sources.folder(job, by_name)
            if isinstance(reason, str):
                where = (*at, *server.key_of(name), "from")
                yield _fault(where, reason, job, is_known=job in by_name)


def _fault(at: Key, reason: str, job: str, *, is_known: bool) -> Fault:
    cause = ("workloads", job)
    if is_known:
        return Fault(at, reason, given=(cause,))
    return Fault(at, reason, given=(("workloads",),), lacks=cause, by_names=True)
