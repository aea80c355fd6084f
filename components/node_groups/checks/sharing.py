"""Checks that the accelerator supports the `sharing`."""

from collections.abc import Iterator

from components import catalog
from components.base.problems import Key, Problem, did_you_mean
from components.catalog import Accelerator
from components.node_groups.cluster_properties import ClusterProperties
from components.node_groups.settings import Mig, Mps, NodeGroupArgs

_MPS_CLIENTS_OF_OLD = 16
"""Maximum number of pods that can share an older GPU by MPS."""


def find_problems(
    path: Key, args: NodeGroupArgs, accelerator: Accelerator | None, cluster: ClusterProperties
) -> Iterator[Problem]:
    sharing, at = args.sharing, (*path, "sharing")
    if sharing is None:
        return
    if accelerator is None or accelerator.kind != "gpu":
        yield Problem(at, "only GPUs can be shared; set accelerator to a GPU, or remove sharing")
    elif isinstance(sharing, Mig):
        if not accelerator.mig:
            able = [other.name for other in catalog.ACCELERATORS.values() if other.mig]
            yield Problem(
                at, f"{accelerator.name} does not support MIG; use kind timeSlicing, or one of {', '.join(able)}"
            )
        elif sharing.profile not in accelerator.mig:
            near = did_you_mean(sharing.profile, accelerator.mig)
            reason = f"{accelerator.name} has no profile {sharing.profile}"
            yield Problem((*at, "profile"), f"{reason}; choose one of {', '.join(accelerator.mig)}{near}")
    elif isinstance(sharing, Mps):
        old = float(accelerator.compute_capability or 0) < cluster.traits.mps_of_old_gpus
        if not accelerator.mps:
            yield Problem(at, f"{accelerator.name} does not support MPS; use kind timeSlicing")
        elif old and sharing.replicas > _MPS_CLIENTS_OF_OLD:
            reason = f"by MPS at most {_MPS_CLIENTS_OF_OLD} pods can share a {accelerator.name}"
            yield Problem((*at, "replicas"), f"{reason}; set replicas to {_MPS_CLIENTS_OF_OLD} or less")
