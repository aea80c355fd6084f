"""Checks of a canary's settings."""

from collections import Counter
from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.model_server.canary.controller_objects import CANARY_SUFFIX, NAME_SUFFIX, STABLE_SUFFIX
from tensorplane.workloads.model_server.canary.settings import CanaryArgs
from tensorplane.workloads.model_server.settings import ServedModel, ServerSettings
from tensorplane.workloads.pods import checks as pods_checks


def find_problems(settings: ServerSettings, server: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Every problem of the canary and of pinned versions. `at`: the path of the server's settings."""
    tried = [name for name, model in settings.served.items() if model.canary]
    for name in tried[1:]:
        reason = f"model {tried[0]} has one, and a server tries one model; use a server of its own for {name}"
        yield Problem((*at, *settings.key_of(name), "canary"), reason, given=((*at, *settings.key_of(tried[0])),))
    for name, model in settings.served.items():
        path = (*at, *settings.key_of(name))
        yield from _pin(model, path)
        if model.canary:
            if settings.scaling:
                reason = "conflicts with scaling: a canary's part of the requests is its part of the replicas"
                yield Problem((*path, "canary"), f"{reason}; set replicas", given=((*at, "scaling"),))
            yield from _alone(model, path)
            yield from _canary(model, model.canary, server, path, declared)


def find_name_problems(at: Key, workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Problem of a workload with the name of another one's canary or controller."""
    for suffix in (CANARY_SUFFIX, NAME_SUFFIX, STABLE_SUFFIX):
        server = at[-1].removesuffix(suffix)
        other = workloads.get((*at[:-1], server)) if server != at[-1] else None
        if not isinstance(other, ServerSettings) or not other.with_canary:
            continue
        if suffix != STABLE_SUFFIX or other.tried_by_route or _has_stable_models(workloads[at]):
            yield Problem(at, f"is also the name of an object of model server {server}; use another name")


def _has_stable_models(stable: WorkloadArgs) -> bool:
    """Whether a server of this name has its list of models where that of the canary's stable pods is."""
    return isinstance(stable, ServerSettings) and not stable.with_canary


def notes(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Note]:
    """The part of the requests that each canary really gets."""
    for at, workload in workloads.items():
        if isinstance(workload, ServerSettings) and (name := workload.with_canary):
            canary = workload.served[name].canary
            if canary:
                yield Note((*at, *workload.key_of(name), "canary", "percent"), _share(canary, workload))


def _share(canary: CanaryArgs, server: ServerSettings) -> str:
    pods = server.canary_replicas
    if server.tried_by_route:
        inside = f"1 of {server.replicas + 1}" if pods == 1 else f"{pods} of {server.replicas + pods}"
        others = "clients inside the cluster, who do not come through it, are divided by shares of replicas"
        return f"by the Gateway's route: a canary gets {canary.percent} % of its requests; {others}: {inside}"
    among = max(server.replicas, pods + 1)
    return f"by shares of replicas: a canary is {pods} of {among}, and gets about {100 * pods / among:.0f} %"


def _pin(model: ServedModel, at: Key) -> Iterator[Problem]:
    if model.pin is None:
        return
    if "versions" in model.model_fields_set:
        reason = "conflicts with versions, which also says what is served; remove one of them"
        yield Problem((*at, "pin"), reason, given=((*at, "versions"),))
    for label, version in model.labels.items():
        if version != model.pin:
            reason = f"is version {version}, but only the pinned {model.pin} is served; remove it, or set {model.pin}"
            yield Problem((*at, "labels", label), reason, given=((*at, "pin"),))


def _alone(model: ServedModel, at: Key) -> Iterator[Problem]:
    for key in ("versions", "labels"):
        if key in model.model_fields_set:
            reason = "conflicts with canary, which decides what the pods serve; remove one of them"
            yield Problem((*at, key), reason, given=((*at, "canary"),))


def _canary(model: ServedModel, canary: CanaryArgs, server: str, at: Key, declared: Declared) -> Iterator[Problem]:
    path, account = (*at, "canary"), f"{server}{NAME_SUFFIX}"
    if model.location:
        yield from _record(model.location.volume, account, (*at, model.key("volume")), declared)
    counts = Counter(gate.metric for gate in canary.gate)
    for index, gate in enumerate(canary.gate):
        here = (*path, "gate", str(index))
        if counts[gate.metric] > 1 and gate is not next(one for one in canary.gate if one.metric == gate.metric):
            yield Problem((*here, "metric"), f"{gate.metric} has a gate already; remove one of them")
        if gate.examples:
            volume, of = gate.examples.volume, (*here, "examples", "volume")
            yield from pods_checks.check_volume(volume, of, declared.volumes)
            yield from pods_checks.check_access(account, volume, of, declared.volumes, read_only=True)


def _record(volume: str, account: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of the volume, where the controller appends its record to a file beside the versions."""
    yield from pods_checks.check_access(account, volume, at, declared.volumes, read_only=False)
    yield from pods_checks.check_mirror(volume, at, declared.volumes)
    if (args := declared.volumes.get(volume)) and args.for_one_node(declared.cluster):
        reason = f"only one node can mount volume {volume}, but the canary's controller runs on any"
        yield Problem(at, f"{reason}; use a volume that many nodes can mount", given=(("volumes", volume),))
