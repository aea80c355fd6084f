"""The accelerator of a node group, and its machines from the catalog."""

from collections.abc import Iterator, Sequence

from tensorplane.components import catalog
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.catalog import Accelerator, Cloud, Machine
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.core import command_lines


def accelerator_of(path: tuple[str, ...], args: NodeGroupArgs) -> tuple[Accelerator | None, list[Problem]]:
    if args.accelerator is None:
        return None, []
    if accelerator := catalog.ACCELERATORS.get(args.accelerator):
        return accelerator, []
    at = (*path, "accelerator")
    if gone := catalog.WITHDRAWN.get(args.accelerator.lower()):
        return None, [Problem(at, f"{args.accelerator} is withdrawn ({gone.reason}); use {gone.successor}")]
    near = did_you_mean(args.accelerator, catalog.ACCELERATORS)
    catalog_command = command_lines.goal("catalog")
    return None, [Problem(at, f"unknown accelerator {args.accelerator!r}{near}; {catalog_command} lists all")]


def fitting(
    path: tuple[str, ...], args: NodeGroupArgs, accelerator: Accelerator | None, cluster: ClusterProperties
) -> tuple[tuple[Machine, ...], list[Problem]]:
    """The machines that fit, the preferred one first."""
    if args.accelerator and not accelerator:
        return (), []
    if cluster.cloud is None:
        return (), list(_without_catalog(path, args, cluster))
    if args.machine is None and accelerator is None:
        return (), [Problem(path, "neither accelerator nor machine is set; set one of them")]
    if args.machine and (problem := _unusable(path, args, accelerator, cluster.cloud)):
        return (), [problem]
    if accelerator is None:
        found = catalog.machine(cluster.cloud, args.machine or "")
        return ((found,) if found else ()), []
    fitting = catalog.offers(cluster.cloud, accelerator.name, args.per_node)
    if not fitting:
        return (), [_no_offer(path, args, accelerator, cluster.cloud, cluster.kind)]
    return _preferred(path, args, accelerator, cluster.cloud, cluster.region, fitting)


def _preferred(
    path: tuple[str, ...],
    args: NodeGroupArgs,
    accelerator: Accelerator,
    cloud: Cloud,
    region: str | None,
    fitting: Sequence[Machine],
) -> tuple[tuple[Machine, ...], list[Problem]]:
    """Of machines with the accelerators: the chosen one first, else those that the region sells."""
    if args.machine is None:
        # A region may sell only some of them; if it sells none, another check reports it.
        here = tuple(m for m in fitting if not region or catalog.sold(cloud, m, region) != ())
        return (here or tuple(fitting)), []
    chosen = tuple(m for m in fitting if m.name == args.machine)
    if not chosen:
        names = [m.name for m in fitting]
        reason = f"{args.machine} does not have {args.per_node} {accelerator.name}; choose one of {', '.join(names)}"
        return (), [Problem((*path, "machine"), reason + did_you_mean(args.machine, names))]
    return (*chosen, *(m for m in fitting if m.name != args.machine)), []


def _without_catalog(path: tuple[str, ...], args: NodeGroupArgs, cluster: ClusterProperties) -> Iterator[Problem]:
    if args.machine:
        reason = f"cluster kind {cluster.kind} has no machine types; remove it"
        yield Problem((*path, "machine"), reason, given=(("cluster",),))
    if args.accelerator is None and args.per_node != 1:
        yield Problem(
            (*path, "perNode"),
            f"perNode is {args.per_node} but accelerator is not set; set accelerator, or remove perNode",
        )


def _unusable(
    path: tuple[str, ...], args: NodeGroupArgs, accelerator: Accelerator | None, cloud: Cloud
) -> Problem | None:
    """Problems of a machine that is unknown, withdrawn, or has another number of accelerators."""
    name, at = args.machine or "", (*path, "machine")
    if gone := catalog.WITHDRAWN_MACHINES.get(name):
        return Problem(at, f"{name} is withdrawn ({gone.reason}); use {gone.successor}")
    found = catalog.machine(cloud, name)
    if found is None:
        near = did_you_mean(name, catalog.machine_names(cloud))
        catalog_command = command_lines.goal("catalog", command_lines.option("cloud", cloud))
        return Problem(at, f"unknown machine {name!r} on {cloud}{near}; {catalog_command} lists all")
    per_node = args.per_node if "per_node" in args.model_fields_set or accelerator else found.count
    if per_node != found.count and found.accelerator == (accelerator.name if accelerator else found.accelerator):
        has = f"{found.count} {found.accelerator}" if found.accelerator else "no accelerator"
        remedy = f"set it to {found.count}" if found.count else "remove it"
        return Problem((*path, "perNode"), f"perNode is {per_node} but {name} has {has}; {remedy}")
    return None


def _no_offer(path: tuple[str, ...], args: NodeGroupArgs, accelerator: Accelerator, cloud: Cloud, kind: str) -> Problem:
    counts = catalog.counts(cloud, accelerator.name)
    if counts:
        nearest = min(counts, key=lambda count: (abs(count - args.per_node), count))
        choices = ", ".join(map(str, counts))
        reason = (
            f"no machine of {kind} has {args.per_node} {accelerator.name}; choose one of {choices} (nearest: {nearest})"
        )
        return Problem((*path, "perNode"), reason)
    sellers = [other for other in catalog.clouds() if catalog.counts(other, accelerator.name)]
    offers = f"; {', '.join(sellers)} have it" if sellers else ""
    return Problem(
        (*path, "accelerator"),
        f"{kind} has no machine with {accelerator.name}{offers}{_nearest_accelerator(accelerator, cloud)}",
    )


def _nearest_accelerator(accelerator: Accelerator, cloud: Cloud) -> str:
    here = [
        other
        for other in catalog.ACCELERATORS.values()
        if other.kind == accelerator.kind and catalog.counts(cloud, other.name)
    ]
    if not here:
        return ""
    near = min(
        here, key=lambda other: (abs(other.year - accelerator.year), abs(other.memory_gib - accelerator.memory_gib))
    )
    return f" (nearest on {cloud}: {near.name})"
