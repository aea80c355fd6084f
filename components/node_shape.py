"""From a node group's settings to its shape: machine, labels and taints out of the catalog, every fault on the way."""

from collections.abc import Iterator
from dataclasses import dataclass

from components import catalog, label_checks
from components.catalog import Accelerator, Cloud, Machine
from components.faults import Fault, Key, did_you_mean
from components.labels import LABEL_VALUE_LIMIT, is_label_value
from components.node_group import (
    ACCELERATOR,
    AKS_SPOT,
    CPU,
    FLAVOR,
    GENERATION,
    GPU_PRESENT,
    GROUP,
    NO_ACCELERATOR,
    PLUGIN_CONFIG,
    PRODUCT,
    SPOT,
    TIER,
    Mig,
    Mps,
    NodeGroupArgs,
    Shape,
    Taint,
    TimeSlicing,
    keeps_out,
)

_MPS_CLIENTS_OF_OLD, _OLD_FOR_MPS, _OLD_FOR_GKE = 16, 7.5, 7.0
"""Pods that share an older card by MPS at most, and the compute capability below which one is older. The limit is that
of Pascal's hardware; NVIDIA's daemon counts Volta in (NVIDIA/k8s-device-plugin@b5b9ab7,
cmd/mps-control-daemon/mps/device.go), and GKE, which has a daemon of its own, does not."""

_BY_KIND = (("cluster", "kind"),)


@dataclass(frozen=True)
class Site:
    """What of a cluster decides how its node groups come out."""

    kind: str
    """Kind of the cluster."""
    cloud: Cloud | None
    """Whose machines; None where no catalog lists them."""
    region: str | None
    automatic_taints: frozenset[str] = frozenset()
    """Keys of the taints that the cloud sets by itself."""
    taints: tuple[Taint, ...] = ()
    """Taints that every node of every group has."""
    class_label: str | None = None
    """Label by which pods select the nodes of a group that the cloud provisions; its value is the group's name."""


def resolve(name: str, args: NodeGroupArgs, site: Site) -> tuple[Shape | None, list[Fault]]:
    """The group's shape and the faults in its settings. No shape where the machine cannot be told."""
    path = ("nodeGroups", name)
    found = [*_counts(path, args), *label_checks.labels(path, args)]
    card, faults = _card(path, args)
    machines, more = _machines(path, args, card, site)
    if card is None and machines and machines[0].accelerator:
        card = catalog.ACCELERATORS[machines[0].accelerator]
    found += [
        *faults,
        *more,
        *_zones(path, args, machines, site),
        # What is shared cannot be told where the machine cannot.
        *(_sharing(path, args, card, site) if card or not (faults or more) else ()),
        *_capacity(path, args, site),
        *label_checks.taints(path, args, _own_taints(args, card, site)),
    ]
    if faults or more:
        return None, found
    shape = _shape(name, args, card, machines, site)
    return shape, [*found, *_name(path, shape)]


def _name(path: Key, shape: Shape) -> Iterator[Fault]:
    """A name that makes its kind's, which is a label of the nodes, too long for one."""
    if not is_label_value(shape.flavor):
        room = LABEL_VALUE_LIMIT - (len(shape.flavor) - len(shape.name))
        reason = f"it makes its nodes the kind {shape.flavor}, which is longer than the {LABEL_VALUE_LIMIT} of a label"
        yield Fault(path, f"{reason}: need a name of at most {room} characters")


def _shape(
    name: str, args: NodeGroupArgs, card: Accelerator | None, machines: tuple[Machine, ...], site: Site
) -> Shape:
    machine = machines[0] if machines else None
    per_node = (machine.count if machine else args.per_node) if card else 0
    price = catalog.price(site.cloud, machine, site.region) if site.cloud and machine and site.region else None
    return Shape(
        name=name,
        args=args,
        machine=machine,
        alternatives=machines[1:],
        accelerator=card,
        per_node=per_node,
        labels={**_own_labels(name, args, card), **dict(sorted(args.labels.items()))},
        taints=(*_own_taints(args, card, site), *(Taint(t.key, t.value, t.effect) for t in args.taints)),
        hourly_usd=(price.spot if args.spot else price.on_demand) if price else None,
        resources={card.resource: per_node * _pods_per_card(args, card)} if card else {},
        selector={site.class_label: name} if site.class_label and args.provisioner == "automatic" else {},
    )


def _own_labels(name: str, args: NodeGroupArgs, card: Accelerator | None) -> dict[str, str]:
    labels = {GROUP: name, FLAVOR: _flavor(name, args, card), ACCELERATOR: card.name if card else NO_ACCELERATOR}
    if card:
        labels |= {PRODUCT: card.product, GENERATION: card.architecture, TIER: str(card.year)}
    if card and card.kind == "gpu":
        labels[GPU_PRESENT] = "true"
        labels |= _sharing_labels(args)
    if args.spot:
        labels[SPOT] = "true"
    return labels


def _flavor(name: str, args: NodeGroupArgs, card: Accelerator | None) -> str:
    """A name for what pods with a quota see of the nodes: two groups that differ in none of it share a quota.

    A taint of its own makes a group a kind by itself. Spot CPUs are as good as others to a pod that may run there.
    """
    kind = [card.name if card else CPU]
    if card and args.spot:
        kind.append("spot")
    if args.sharing:
        kind.append(plugin_config(args))
    if any(keeps_out(taint) for taint in args.taints):
        kind.append(name)
    return "-".join(kind)


def _sharing_labels(args: NodeGroupArgs) -> dict[str, str]:
    """What tells the plugin, the daemon of MPS and the GPU Operator's MIG manager which nodes are theirs, and how."""
    labels = {PLUGIN_CONFIG: plugin_config(args)} if args.sharing else {}
    if isinstance(args.sharing, Mps):
        labels["nvidia.com/mps.capable"] = "true"
    elif isinstance(args.sharing, Mig):
        labels["nvidia.com/mig.config"] = f"all-{_label_value(args.sharing.profile)}"
    return labels


def _label_value(mig_profile: str) -> str:
    """A profile as labels can say it, which is also NVIDIA's spelling there: 1g.10gb.me for 1g.10gb+me."""
    return mig_profile.replace("+", ".")


def plugin_config(args: NodeGroupArgs) -> str:
    """Name of the device plugin's configuration that shares a group's GPUs as its settings say."""
    match args.sharing:
        case TimeSlicing(replicas=replicas):
            return f"time-slicing-{replicas}"
        case Mps(replicas=replicas):
            return f"mps-{replicas}"
        case Mig(profile=profile):
            return f"mig-{_label_value(profile)}"
    return "whole"


def _own_taints(args: NodeGroupArgs, card: Accelerator | None, site: Site) -> Iterator[Taint]:
    if card:
        yield Taint(card.resource, "present", "NoSchedule", by_cloud=card.resource in site.automatic_taints)
    if args.spot:
        yield Taint(SPOT, "true", "NoSchedule")
        if site.cloud == "aks":
            yield Taint(AKS_SPOT, "spot", "NoSchedule", by_cloud=True)
    yield from site.taints


def _pods_per_card(args: NodeGroupArgs, card: Accelerator) -> int:
    match args.sharing:
        case TimeSlicing(replicas=replicas) | Mps(replicas=replicas):
            return replicas
        case Mig(profile=profile):
            return max(1, card.instances(profile))
    return 1


def _card(path: tuple[str, ...], args: NodeGroupArgs) -> tuple[Accelerator | None, list[Fault]]:
    if args.accelerator is None:
        return None, []
    if card := catalog.ACCELERATORS.get(args.accelerator):
        return card, []
    where = (*path, "accelerator")
    if gone := catalog.WITHDRAWN.get(args.accelerator.lower()):
        return None, [Fault(where, f"{args.accelerator} is withdrawn ({gone.reason}): use {gone.successor}")]
    near = did_you_mean(args.accelerator, catalog.ACCELERATORS)
    return None, [Fault(where, f"unknown accelerator {args.accelerator!r}{near}: make catalog lists them")]


def _machines(
    path: tuple[str, ...], args: NodeGroupArgs, card: Accelerator | None, site: Site
) -> tuple[tuple[Machine, ...], list[Fault]]:
    """The machines that fit, the preferred one first."""
    if args.accelerator and not card:
        return (), []
    if site.cloud is None:
        return (), list(_without_catalog(path, args, site))
    if args.machine is None and card is None:
        return (), [Fault(path, "missing: accelerator or machine, one of them")]
    if args.machine and (wrong := _unusable(path, args, card, site.cloud)):
        return (), [wrong]
    if card is None:
        found = catalog.machine(site.cloud, args.machine or "")
        return ((found,) if found else ()), []
    fitting = catalog.offers(site.cloud, card.name, args.per_node)
    if not fitting:
        return (), [_no_offer(path, args, card, site.cloud, site.kind)]
    if args.machine is None:
        # A region may sell only some of them; which it does not is said where it sells none.
        here = tuple(m for m in fitting if not site.region or catalog.sold(site.cloud, m, site.region) != ())
        return (here or fitting), []
    chosen = tuple(m for m in fitting if m.name == args.machine)
    if not chosen:
        names = [m.name for m in fitting]
        reason = f"got {args.machine}, which has not {args.per_node} {card.name}; need {', '.join(names)}"
        return (), [Fault((*path, "machine"), reason + did_you_mean(args.machine, names))]
    return (*chosen, *(m for m in fitting if m.name != args.machine)), []


def _without_catalog(path: tuple[str, ...], args: NodeGroupArgs, site: Site) -> Iterator[Fault]:
    if args.machine:
        reason = f"cluster kind {site.kind} has no machine types: leave it out"
        yield Fault((*path, "machine"), reason, given=(("cluster",),))
    if args.accelerator is None and args.per_node != 1:
        yield Fault((*path, "perNode"), f"got {args.per_node}, of no accelerator: name one, or leave it out")


def _unusable(path: tuple[str, ...], args: NodeGroupArgs, card: Accelerator | None, cloud: Cloud) -> Fault | None:
    """Why a machine cannot be had at all, or not with that many accelerators."""
    name, where = args.machine or "", (*path, "machine")
    if gone := catalog.WITHDRAWN_MACHINES.get(name):
        return Fault(where, f"{name} is withdrawn ({gone.reason}): use {gone.successor}")
    found = catalog.machine(cloud, name)
    if found is None:
        near = did_you_mean(name, catalog.machine_names(cloud))
        return Fault(where, f"unknown machine {name!r} on {cloud}{near}")
    asked = args.per_node if "per_node" in args.model_fields_set or card else found.count
    if asked != found.count and found.accelerator == (card.name if card else found.accelerator):
        has = f"{found.count} {found.accelerator}" if found.accelerator else "no accelerator"
        need = f"need {found.count}" if found.count else "leave it out"
        return Fault((*path, "perNode"), f"got {asked}, and {name} has {has}: {need}")
    return None


def _no_offer(path: tuple[str, ...], args: NodeGroupArgs, card: Accelerator, cloud: Cloud, kind: str) -> Fault:
    counts = catalog.counts(cloud, card.name)
    if counts:
        nearest = min(counts, key=lambda count: (abs(count - args.per_node), count))
        listed = ", ".join(map(str, counts))
        reason = f"no machine of {kind} has {args.per_node} {card.name}, machines have {listed} (nearest: {nearest})"
        return Fault((*path, "perNode"), reason)
    sellers = [other for other in ("eks", "gke", "aks") if catalog.counts(other, card.name)]
    where = f"; {', '.join(sellers)} have it" if sellers else ""
    return Fault((*path, "accelerator"), f"{kind} has no machine with {card.name}{where}{_nearest_card(card, cloud)}")


def _nearest_card(card: Accelerator, cloud: Cloud) -> str:
    here = [
        other
        for other in catalog.ACCELERATORS.values()
        if other.kind == card.kind and catalog.counts(cloud, other.name)
    ]
    if not here:
        return ""
    near = min(here, key=lambda other: (abs(other.year - card.year), abs(other.memory_gib - card.memory_gib)))
    return f" (nearest on {cloud}: {near.name})"


def _counts(path: tuple[str, ...], args: NodeGroupArgs) -> Iterator[Fault]:
    if args.min > args.max:
        yield Fault((*path, "min"), f"got {args.min} with max {args.max}, need at most {args.max}")


def _zones(path: tuple[str, ...], args: NodeGroupArgs, machines: tuple[Machine, ...], site: Site) -> Iterator[Fault]:
    if site.cloud is None or site.region is None:
        return
    known = catalog.zones(site.cloud, site.region)
    for zone in args.zones if known else ():
        if zone not in known:
            reason = f"no zone {zone!r} in {site.region}, it has {', '.join(known)}{did_you_mean(zone, known)}"
            yield Fault((*path, "zones"), reason)
    if not machines:
        return
    key = (*path, "machine" if args.machine else "accelerator")
    name = machines[0].name
    selling = catalog.sold(site.cloud, machines[0], site.region)
    if selling == ():
        others = [r for r in catalog.regions(site.cloud) if catalog.sold(site.cloud, machines[0], r)]
        elsewhere = f": sold in {', '.join(others[:6])}" if others else ""
        yield Fault(key, f"{name} is not sold in {site.region}{elsewhere}", given=(("cluster",),))
    elif selling:
        for zone in args.zones:
            if zone in known and zone not in selling:
                yield Fault((*path, "zones"), f"{name} is not sold in zone {zone}: sold in {', '.join(selling)}")


def _sharing(path: tuple[str, ...], args: NodeGroupArgs, card: Accelerator | None, site: Site) -> Iterator[Fault]:
    sharing, where = args.sharing, (*path, "sharing")
    if sharing is None:
        return
    if card is None or card.kind != "gpu":
        yield Fault(where, "only GPUs are shared: need an accelerator that is a GPU")
    elif isinstance(sharing, Mig):
        if not card.mig:
            able = [other.name for other in catalog.ACCELERATORS.values() if other.mig]
            yield Fault(where, f"{card.name} has no MIG: {', '.join(able)} have, or use kind timeSlicing")
        elif sharing.profile not in card.mig:
            near = did_you_mean(sharing.profile, card.mig)
            yield Fault(
                (*where, "profile"), f"{card.name} has no {sharing.profile}, it has {', '.join(card.mig)}{near}"
            )
    elif isinstance(sharing, Mps):
        old = float(card.compute_capability or 0) < (_OLD_FOR_GKE if site.kind == "gke" else _OLD_FOR_MPS)
        if not card.mps:
            yield Fault(where, f"{card.name} cannot do mps, use kind timeSlicing")
        elif old and sharing.replicas > _MPS_CLIENTS_OF_OLD:
            most = f"{card.name} takes at most {_MPS_CLIENTS_OF_OLD} by mps"
            yield Fault((*where, "replicas"), f"got {sharing.replicas}, and {most}: need {_MPS_CLIENTS_OF_OLD} or less")


def _capacity(path: tuple[str, ...], args: NodeGroupArgs, site: Site) -> Iterator[Fault]:
    if args.reserved and args.spot:
        yield Fault((*path, "spot"), "true with a reservation: reserved machines are not spot, leave out one of them")
    if args.reserved and args.reserved.capacity_block and site.kind != "eks":
        where = (*path, "reserved", "capacityBlock")
        reason = f"true on cluster kind {site.kind}, only eks has capacity blocks: need false"
        yield Fault(where, reason, given=_BY_KIND)
    if args.topology and site.kind != "gke":
        reason = f"given on cluster kind {site.kind}, only gke has TPU slices: leave it out"
        yield Fault((*path, "topology"), reason, given=_BY_KIND)
    if args.max_age_days and not (site.kind == "eks" and args.provisioner == "automatic"):
        reason = "given, and only Karpenter replaces nodes by their age (cluster kind eks, provisioner automatic)"
        yield Fault((*path, "maxAgeDays"), f"{reason}; leave it out", given=(*_BY_KIND, (*path, "provisioner")))
    if args.provisioner == "automatic" and site.kind not in ("eks", "gke"):
        reason = f"automatic on cluster kind {site.kind}, only eks and gke have it: need group"
        yield Fault((*path, "provisioner"), reason, given=_BY_KIND)
