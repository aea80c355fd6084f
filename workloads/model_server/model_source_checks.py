"""Models that come `from` a job which publishes none, and jobs that publish to a model from a URI."""

from collections.abc import Iterator, Mapping

from components.base.problems import Key, Problem
from workloads.family import WorkloadArgs
from workloads.model_server import model_sources
from workloads.model_server.settings import ServerSettings


def find_problems(workloads: Mapping[Key, WorkloadArgs], declared: frozenset[str]) -> Iterator[Problem]:
    """A problem for each name that means no folder. `declared`: names of all workloads, those that failed validation
    included, of which nothing is concluded."""
    by_name = {at[-1]: one for at, one in workloads.items()}
    yield from _published_to_uris(workloads, by_name)
    for at, server in workloads.items():
        if not isinstance(server, ServerSettings):
            continue
        for name, model in server.served.items():
            job = model.from_job
            if job is None or model.location is not None or (job in declared and job not in by_name):
                continue
            reason = model_sources.folder(job, by_name)
            if isinstance(reason, str):
                where = (*at, *server.key_of(name), "from")
                yield _problem(where, reason, job, is_known=job in by_name)


def _problem(at: Key, reason: str, job: str, *, is_known: bool) -> Problem:
    cause = ("workloads", job)
    return Problem(at, reason, given=(cause,), lacks=() if is_known else cause, by_names=not is_known)


def _published_to_uris(workloads: Mapping[Key, WorkloadArgs], by_name: Mapping[str, WorkloadArgs]) -> Iterator[Problem]:
    for at, job in workloads.items():
        for target, key in job.publishes_to.items():
            if (model := model_sources.served(target, by_name)) and model.uri:
                reason = f"{target} serves a model from a URI, to which nothing can be published"
                remedy = "give its model a volume and a path"
                given = (("workloads", target.partition("/")[0]),)
                yield Problem((*at, *key), f"{reason}; {remedy}", given=given)
