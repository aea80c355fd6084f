"""All checks of workloads, of each and between several."""

from collections.abc import Iterator, Mapping

from components.base.faults import Fault, Key, Note
from components.clusters.settings import ClusterArgs
from components.model_page import NAME_SUFFIX as PAGE_SUFFIX
from components.node_groups.fleet import Fleet
from components.step_agent import NAME_SUFFIX as STEPS_SUFFIX
from components.streams.settings import StreamArgs
from components.sweep_shape import NAME_SUFFIX as CONTROLLER_SUFFIX
from workloads.base import Declared, WorkloadArgs
from workloads.checks import (
    architecture,
    canary,
    exposure,
    fetched_model,
    gpu_memory,
    gpu_support,
    idle_readers,
    model_sources,
    one_node,
    one_zone,
    pipeline_objects,
    scorer,
    server_room,
    stage_server,
    stream_names,
    topics,
    triggers,
    unwritten_models,
    writers,
)
from workloads.settings.model_server import ServerSettings

_ACCOUNT_OF_EVERY_NAMESPACE = "default"


def faults(
    workloads: Mapping[Key, WorkloadArgs], streams: Mapping[str, StreamArgs], declared: Declared
) -> Iterator[Fault]:
    """Faults of the workloads at these paths. `streams`: those that passed validation."""
    yield from stream_names.faults(workloads, streams, declared.cluster)
    own: list[Fault] = []
    for at, workload in workloads.items():
        if at[-1] == _ACCOUNT_OF_EVERY_NAMESPACE:
            yield Fault(at, "is also the name of a service account of every namespace; use another name")
        sweep = at[-1].removesuffix(CONTROLLER_SUFFIX)
        if sweep != at[-1] and (other := workloads.get((*at[:-1], sweep))) and other.kind == "sweep":
            yield Fault(at, f"is also the name of the controller of sweep {sweep}; use another name")
        pipeline = at[-1].removesuffix(STEPS_SUFFIX)
        if pipeline != at[-1] and (other := workloads.get((*at[:-1], pipeline))) and other.kind == "pipeline":
            yield Fault(at, f"is also the name of the agent of pipeline {pipeline}; use another name")
        yield from canary.name_faults(at, workloads)
        server = at[-1].removesuffix(PAGE_SUFFIX)
        if server != at[-1] and _has_page(workloads.get((*at[:-1], server))):
            reason = f"is also the name of the page of model server {server}; use another name"
            yield Fault(at, reason, given=((*at[:-1], server, "page"),))
        own += workload.check(at[-1], at, declared)
    yield from own
    yield from exposure.faults_between(workloads)
    yield from pipeline_objects.faults(workloads)
    yield from scorer.faults_between(workloads)
    yield from stage_server.faults_between(workloads)
    yield from topics.faults_between(workloads)
    yield from triggers.faults_between(workloads)
    yield from writers.faults_between(workloads)
    yield from model_sources.faults(workloads, declared.workloads)
    yield from server_room.faults(workloads, declared.fleet)
    yield from gpu_memory.faults(workloads, declared.fleet)
    yield from architecture.faults(workloads, declared.cluster, declared.fleet)
    apart = list(one_node.faults(workloads, declared))
    yield from apart
    of_one_node = {fault.path for fault in apart}
    yield from (fault for fault in one_zone.faults(workloads, declared) if fault.path not in of_one_node)


def _has_page(workload: WorkloadArgs | None) -> bool:
    return isinstance(workload, ServerSettings) and workload.page is not None


def notes(
    workloads: Mapping[Key, WorkloadArgs], streams: Mapping[str, StreamArgs], cluster: ClusterArgs, fleet: Fleet
) -> Iterator[Note]:
    """Notes about workloads without faults. `streams`: those of the stack."""
    yield from unwritten_models.notes(workloads)
    yield from idle_readers.notes(workloads, streams)
    yield from canary.notes(workloads)
    yield from exposure.notes(workloads)
    yield from fetched_model.notes(workloads, cluster)
    yield from architecture.notes(workloads, cluster, fleet)
    yield from gpu_support.notes(workloads, fleet)
