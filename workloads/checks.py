"""All checks of workloads, of each and between several."""

from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.model_server import checks as model_server_checks
from tensorplane.workloads.model_server import gpus
from tensorplane.workloads.model_server.canary import checks as canary_checks
from tensorplane.workloads.model_server.exposure import checks as exposure_checks
from tensorplane.workloads.model_server.fetched_model import checks as fetched_model_checks
from tensorplane.workloads.model_server.page import NAME_SUFFIX as PAGE_SUFFIX
from tensorplane.workloads.model_server.settings import ServerSettings
from tensorplane.workloads.pipeline import checks as pipeline_checks
from tensorplane.workloads.pipeline.steps.agent import NAME_SUFFIX as STEPS_SUFFIX
from tensorplane.workloads.pipeline.triggers import checks as triggers_checks
from tensorplane.workloads.rules import dataset_writers, images, pipeline_objects, shared_volumes
from tensorplane.workloads.rules import streams as rules_streams
from tensorplane.workloads.scorer import checks as scorer_checks
from tensorplane.workloads.sweep.controller_objects import NAME_SUFFIX as CONTROLLER_SUFFIX
from tensorplane.workloads.training_job import tensorflow_image

_ACCOUNT_OF_EVERY_NAMESPACE = "default"


def find_problems(
    workloads: Mapping[Key, WorkloadArgs], streams: Mapping[str, StreamArgs], declared: Declared
) -> Iterator[Problem]:
    """Problems of the workloads at these paths. `streams`: those that passed validation."""
    yield from rules_streams.check_names(workloads, streams, declared.cluster)
    own: list[Problem] = []
    for at, workload in workloads.items():
        yield from _taken_names(at, workloads)
        own += workload.check(at[-1], at, declared)
    yield from own
    yield from exposure_checks.find_problems_between(workloads)
    yield from pipeline_objects.find_problems(workloads)
    yield from scorer_checks.find_problems_between(workloads)
    yield from pipeline_checks.check_servers_between(workloads)
    yield from rules_streams.check_groups(workloads)
    yield from triggers_checks.find_problems_between(workloads)
    yield from dataset_writers.find_problems_between(workloads)
    yield from model_server_checks.check_model_sources(workloads, declared.workloads)
    yield from gpus.check_capacity(workloads, declared.fleet)
    yield from gpus.check_memory(workloads, declared.fleet)
    yield from images.check_architecture(workloads, declared.cluster, declared.fleet)
    apart = list(shared_volumes.check_one_node(workloads, declared))
    yield from apart
    of_one_node = {problem.path for problem in apart}
    yield from (
        problem for problem in shared_volumes.check_one_zone(workloads, declared) if problem.path not in of_one_node
    )


def _taken_names(at: Key, workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Names that an object of another workload has, or of every namespace."""
    if at[-1] == _ACCOUNT_OF_EVERY_NAMESPACE:
        yield Problem(at, "is also the name of a service account of every namespace; use another name")
    sweep = at[-1].removesuffix(CONTROLLER_SUFFIX)
    if sweep != at[-1] and (other := workloads.get((*at[:-1], sweep))) and other.kind == "sweep":
        yield Problem(at, f"is also the name of the controller of sweep {sweep}; use another name")
    pipeline = at[-1].removesuffix(STEPS_SUFFIX)
    if pipeline != at[-1] and (other := workloads.get((*at[:-1], pipeline))) and other.kind == "pipeline":
        yield Problem(at, f"is also the name of the agent of pipeline {pipeline}; use another name")
    yield from canary_checks.find_name_problems(at, workloads)
    server = at[-1].removesuffix(PAGE_SUFFIX)
    if server != at[-1] and _has_page(workloads.get((*at[:-1], server))):
        reason = f"is also the name of the page of model server {server}; use another name"
        yield Problem(at, reason, given=((*at[:-1], server, "page"),))


def _has_page(workload: WorkloadArgs | None) -> bool:
    return isinstance(workload, ServerSettings) and workload.page is not None


def notes(
    workloads: Mapping[Key, WorkloadArgs], streams: Mapping[str, StreamArgs], cluster: ClusterArgs, fleet: Fleet
) -> Iterator[Note]:
    """Notes about workloads without problems. `streams`: those of the stack."""
    yield from model_server_checks.unwritten_model_notes(workloads)
    yield from rules_streams.idle_reader_notes(workloads, streams)
    yield from canary_checks.notes(workloads)
    yield from exposure_checks.notes(workloads)
    yield from fetched_model_checks.notes(workloads, cluster)
    yield from images.architecture_notes(workloads, cluster, fleet)
    yield from tensorflow_image.gpu_support_notes(workloads, fleet)
