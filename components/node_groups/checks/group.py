"""Checks of one node group: contradictions, and settings that the kind of cluster does not support."""

from collections.abc import Iterator

from components.base.labels import LABEL_VALUE_LIMIT, is_label_value
from components.base.problems import Key, Problem
from components.node_groups.cluster_properties import ClusterProperties
from components.node_groups.settings import NodeGroupArgs
from components.node_groups.shape import Shape

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
