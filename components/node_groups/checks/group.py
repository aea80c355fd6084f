"""Checks of one node group: contradictions, what its cluster or accelerator does not support, machines not sold."""

from collections.abc import Iterator

from tensorplane.components import catalog
from tensorplane.components.base.labels import LABEL_VALUE_LIMIT, is_label_value
from tensorplane.components.base.problems import Key, Problem, did_you_mean
from tensorplane.components.catalog import Accelerator, Machine
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.settings import Mig, Mps, NodeGroupArgs
from tensorplane.components.node_groups.shape import Shape

_BY_KIND = (("cluster", "kind"),)


def counts(path: Key, args: NodeGroupArgs) -> Iterator[Problem]:
    if args.min > args.max:
        yield Problem((*path, "min"), f"min is {args.min} but max is {args.max}; set min to {args.max} or less")
    elif args.expected is not None and not args.min <= args.expected <= args.max:
        reason = f"{args.expected:g} is not between min, {args.min}, and max, {args.max}"
        yield Problem((*path, "expected"), f"{reason}; set it to {max(args.min, min(args.expected, args.max)):g}")


def capacity(path: Key, args: NodeGroupArgs, cluster: ClusterProperties) -> Iterator[Problem]:
    if args.reserved and args.spot:
        yield Problem(
            (*path, "spot"), "conflicts with reserved, because reserved machines are never spot; remove one of them"
        )
    if args.reserved and args.reserved.capacity_block and not cluster.traits.capacity_blocks:
        at = (*path, "reserved", "capacityBlock")
        reason = f"cluster kind {cluster.kind} has no capacity blocks; set it to false"
        yield Problem(at, reason, given=_BY_KIND)
    if args.topology and not cluster.traits.slices:
        reason = f"cluster kind {cluster.kind} has no TPU slices; leave it out"
        yield Problem((*path, "topology"), reason, given=_BY_KIND)
    if args.max_age_days and not (cluster.traits.replaces_by_age and args.provisioner == "automatic"):
        remedy = "set provisioner: automatic, or leave it out" if cluster.traits.replaces_by_age else "leave it out"
        which = "of a group of fixed machines" if cluster.traits.replaces_by_age else f"on cluster kind {cluster.kind}"
        reason = f"nodes {which} are not replaced by their age; {remedy}"
        yield Problem((*path, "maxAgeDays"), reason, given=(*_BY_KIND, (*path, "provisioner")))
    if args.provisioner == "automatic" and not cluster.traits.provisioner:
        reason = f"cluster kind {cluster.kind} has no automatic provisioner; set it to group"
        yield Problem((*path, "provisioner"), reason, given=_BY_KIND)


def name(path: Key, shape: Shape) -> Iterator[Problem]:
    """Problem of a name that makes the flavor too long for a label."""
    if not is_label_value(shape.flavor):
        limit = LABEL_VALUE_LIMIT - (len(shape.flavor) - len(shape.name))
        reason = f"flavor {shape.flavor} exceeds the {LABEL_VALUE_LIMIT} characters of a label"
        yield Problem(path, f"{reason}; use a name of at most {limit} characters")


_MPS_CLIENTS_OF_OLD = 16
"""Maximum number of pods that can share an older GPU by MPS."""


def sharing(
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


def sold(
    path: Key, args: NodeGroupArgs, machines: tuple[Machine, ...], cluster: ClusterProperties
) -> Iterator[Problem]:
    if cluster.cloud is None or cluster.region is None:
        return
    known = catalog.zones(cluster.cloud, cluster.region)
    for zone in args.zones if known else ():
        if zone not in known:
            reason = (
                f"{cluster.region} has no zone {zone!r}; choose one of {', '.join(known)}{did_you_mean(zone, known)}"
            )
            yield Problem((*path, "zones"), reason)
    if not machines:
        return
    key = (*path, "machine" if args.machine else "accelerator")
    name = machines[0].name
    selling = catalog.sold(cluster.cloud, machines[0], cluster.region)
    if selling == ():
        others = [r for r in catalog.regions(cluster.cloud) if catalog.sold(cluster.cloud, machines[0], r)]
        elsewhere = f"; it is sold in {', '.join(others[:6])}" if others else ""
        yield Problem(key, f"{name} is not sold in {cluster.region}{elsewhere}", given=(("cluster",),))
    elif selling:
        for zone in args.zones:
            if zone in known and zone not in selling:
                yield Problem(
                    (*path, "zones"), f"{name} is not sold in zone {zone}; it is sold in {', '.join(selling)}"
                )
