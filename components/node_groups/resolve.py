"""Resolves a node group's settings to its shape with the catalog: machine, labels, taints; and every problem."""

from tensorplane.components import catalog
from tensorplane.components.base.problems import Problem
from tensorplane.components.catalog import Accelerator, Machine
from tensorplane.components.node_groups import labels, machines
from tensorplane.components.node_groups.checks import group
from tensorplane.components.node_groups.checks import labels as label_checks
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.settings import Mig, Mps, NodeGroupArgs, TimeSlicing
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.node_groups.taint import Taint


def resolve(name: str, args: NodeGroupArgs, cluster: ClusterProperties) -> tuple[Shape | None, list[Problem]]:
    """The group's shape and the problems of its settings. No shape without a machine."""
    path = ("nodeGroups", name)
    found = [*group.counts(path, args), *label_checks.labels(path, args, cluster.traits.label_domains)]
    accelerator, problems = machines.accelerator_of(path, args)
    fitting, more = machines.fitting(path, args, accelerator, cluster)
    if accelerator is None and fitting and fitting[0].accelerator:
        accelerator = catalog.ACCELERATORS[fitting[0].accelerator]
    found += [
        *problems,
        *more,
        *group.sold(path, args, fitting, cluster),
        # Without a machine it is unknown what would be shared.
        *(group.sharing(path, args, accelerator, cluster) if accelerator or not (problems or more) else ()),
        *group.capacity(path, args, cluster),
        *label_checks.taints(
            path, args, labels.derived_taints(args, accelerator, cluster), cluster.traits.taint_domains
        ),
    ]
    if problems or more:
        return None, found
    shape = _shape(name, args, accelerator, fitting, cluster)
    return shape, [*found, *group.name(path, shape)]


def _shape(
    name: str,
    args: NodeGroupArgs,
    accelerator: Accelerator | None,
    fitting: tuple[Machine, ...],
    cluster: ClusterProperties,
) -> Shape:
    machine = fitting[0] if fitting else None
    per_node = (machine.count if machine else args.per_node) if accelerator else 0
    price = (
        catalog.price(cluster.cloud, machine, cluster.region) if cluster.cloud and machine and cluster.region else None
    )
    hourly_usd = (price.spot if args.spot else price.on_demand) if price else None
    return Shape(
        name=name,
        args=args,
        machine=machine,
        alternatives=fitting[1:],
        accelerator=accelerator,
        per_node=per_node,
        labels={**labels.derived_labels(name, args, accelerator), **dict(sorted(args.labels.items()))},
        taints=(
            *labels.derived_taints(args, accelerator, cluster),
            *(Taint(t.key, t.value, t.effect) for t in args.taints),
        ),
        hourly_usd=hourly_usd,
        resources={accelerator.resource: per_node * _pods_per_accelerator(args, accelerator)} if accelerator else {},
        price_date="" if hourly_usd is None or not price else (price.spot_date if args.spot else price.date) or "",
        price_missing=_price_missing(args, machine, cluster) if hourly_usd is None else "",
        selector={cluster.traits.class_label: name}
        if cluster.traits.class_label and args.provisioner == "automatic"
        else {},
    )


def _price_missing(args: NodeGroupArgs, machine: Machine | None, cluster: ClusterProperties) -> str:
    if machine is None:
        return f"cluster kind {cluster.kind} has no catalog of machines"
    if not cluster.region:
        return "the region of the machines is not declared"
    return f"the catalog has no {'spot' if args.spot else 'on-demand'} price of {machine.name} in {cluster.region}"


def _pods_per_accelerator(args: NodeGroupArgs, accelerator: Accelerator) -> int:
    match args.sharing:
        case TimeSlicing(replicas=replicas) | Mps(replicas=replicas):
            return replicas
        case Mig(profile=profile):
            return max(1, accelerator.instances(profile))
    return 1
