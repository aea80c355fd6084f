"""What is wrong with the volumes of a stack beyond their shape: what a backend lacks, sizes, origins, paths."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from components import quantity
from components.cluster import ClusterArgs
from components.consequences import of_default
from components.faults import Fault, Key, unknown_name
from components.model import is_object_name
from components.stream import check as stream_check
from components.volume import capabilities, mirror_check, name_check, snapshot_group
from components.volume.backend import Backend
from components.volume.capabilities import Capabilities
from components.volume.snapshot_schedule import NAME_LIMIT

if TYPE_CHECKING:
    from components.volume import VolumeArgs

Declared = Mapping[str, "VolumeArgs | None"]


def faults(volumes: Mapping[str, "VolumeArgs"], declared: Declared, cluster: ClusterArgs) -> Iterator[Fault]:
    """Every fault, a line each. `declared` also has the names of volumes that are faulty themselves."""
    yield from _paths(volumes)
    yield from stream_check.faults({name: args.stream for name, args in volumes.items() if args.stream})
    yield from snapshot_group.faults(volumes, set(declared), cluster)
    yield from name_check.faults(volumes, cluster)
    yield from _together(volumes, cluster)
    for name, args in volumes.items():
        wrong = _of_volume(name, args, declared, cluster)
        yield from wrong if args.backend else of_default(("volumes", name, "backend"), wrong)


def _of_volume(name: str, args: "VolumeArgs", declared: Declared, cluster: ClusterArgs) -> Iterator[Fault]:
    at = ("volumes", name)
    backend = args.backend_on(cluster)
    if backend.clusters is not None and not backend.is_on(cluster):
        need = f"it needs cluster kind {' or '.join(sorted(backend.clusters))}"
        reason = f"got {backend.kind} on cluster kind {cluster.kind}, {need}"
        yield Fault((*at, "backend"), reason, given=(("cluster", "kind"),))
        return
    yield from _modes(at, args, backend, cluster)
    yield from _size(at, args, backend)
    yield from _lacking(at, args, backend, cluster)
    yield from mirror_check.faults(name, args, declared, cluster, _able_to_mirror(args, cluster))
    yield from _snapshots(name, args, backend)
    yield from _snapshot_name(name, args, backend)
    yield from _origin(name, args, declared, cluster)
    yield from _copied(name, args, declared)
    yield from _stream(at, args, cluster)
    for fault in backend.check(args, cluster):
        yield Fault((*at, *fault.path), fault.reason, given=_given(at, fault))


def _together(volumes: Mapping[str, "VolumeArgs"], cluster: ClusterArgs) -> Iterator[Fault]:
    """What volumes of one kind share has limits of its own."""
    kinds = {(backend := args.backend_on(cluster)).kind: backend for args in volumes.values()}
    for kind, backend in sorted(kinds.items()):
        if backend.is_on(cluster):
            of_kind = {name: args for name, args in volumes.items() if args.backend_on(cluster).kind == kind}
            for fault in backend.check_together(of_kind, cluster):
                yield Fault(("volumes", *fault.path), fault.reason, given=_given(("volumes",), fault))


def _given(at: Key, fault: Fault) -> tuple[Key, ...]:
    """What a backend's fault was concluded from: the cluster's settings, and those of the volume."""
    return tuple(path if path[0] == "cluster" else (*at, *path) for path in fault.given)


def _paths(volumes: Mapping[str, "VolumeArgs"]) -> Iterator[Fault]:
    """A path is one volume's, and no volume is inside another."""
    taken = {args.path: name for name, args in reversed(list(volumes.items())) if args.path}
    for name, args in volumes.items():
        for path, other in taken.items():
            if args.path and name != other and (args.path == path or args.path.startswith(f"{path}/")):
                reason = f"got {args.path}, volume {other} is at {path}: need a path of its own"
                yield Fault(("volumes", name, "path"), reason, given=(("volumes", other, "path"),))
                break


def _modes(at: Key, args: "VolumeArgs", backend: Backend, cluster: ClusterArgs) -> Iterator[Fault]:
    for mode in args.access_modes or ():
        if mode not in backend.capabilities.access_modes:
            able = _have([kind for kind, row in rows().items() if mode in row.access_modes], cluster)
            yield Fault(
                (*at, "accessModes"), f"backend {backend.kind} has no {mode}; {able}", given=((*at, "backend"),)
            )


def _size(at: Key, args: "VolumeArgs", backend: Backend) -> Iterator[Fault]:
    row = backend.capabilities
    if quantity.mebibytes(args.size_gib) < 1:
        yield Fault((*at, "sizeGib"), f"{args.size_gib:g} GiB is less than a MiB, so nothing fits; set 0.001 or more")
    elif args.size_gib < row.min_gib or (row.max_gib is not None and args.size_gib > row.max_gib):
        reason = f"got {args.size_gib:.12g}, backend {backend.kind} has {capabilities.sizes(row)}"
        yield Fault((*at, "sizeGib"), reason, given=((*at, "backend"),))


def _lacking(at: Key, args: "VolumeArgs", backend: Backend, cluster: ClusterArgs) -> Iterator[Fault]:
    """What the settings ask for and the backend has not: those that have it are named."""
    source = args.source
    asked = (
        (("snapshots",), "snapshot", args.snapshots is not None),
        (("snapshots", "group"), "group_snapshot", args.snapshots is not None and args.snapshots.group is not None),
        (("from", "snapshot"), "snapshot", source is not None and source.snapshot is not None),
        (("from", "volume"), "clone", source is not None and source.volume is not None),
        (("from", "mirrorOf"), "failover", source is not None and source.mirror_of is not None),
        (("placement",), "placement", args.placement is not None),
        (("encrypted",), "encryption", args.encrypted),
        (("quota",), "quota", args.quota),
        (("cache",), "cache", args.cache is not None),
    )
    for key, feature, wanted in asked:
        if wanted and getattr(backend.capabilities, feature) is None:
            able = _have([kind for kind, row in rows().items() if getattr(row, feature)], cluster)
            reason = f"backend {backend.kind} has no {capabilities.FEATURES[feature]}; {able}"
            yield Fault((*at, *key), reason, given=((*at, "backend"),))


def _able_to_mirror(args: "VolumeArgs", cluster: ClusterArgs) -> str:
    """Who keeps a copy where the settings say."""
    way = args.mirror.to.way if args.mirror else ""
    return _have([kind for kind, row in rows().items() if way in row.mirrors], cluster)


def _snapshots(name: str, args: "VolumeArgs", backend: Backend) -> Iterator[Fault]:
    if args.snapshots is None or backend.capabilities.snapshot != capabilities.CSI:
        return
    at = ("volumes", name)
    if backend.csi_driver is None:
        reason = (
            "missing, and snapshots need it: the CSI driver of the StorageClass, as `kubectl get csidrivers` has it"
        )
        yield Fault((*at, "backend", "driver"), reason, given=((*at, "snapshots"), (*at, "backend")))
    if len(name) > NAME_LIMIT:
        yield Fault(at, f"the name has {len(name)} characters, at most {NAME_LIMIT} with snapshots on a schedule")


def _stream(at: Key, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[Fault]:
    if args.stream is None:
        return
    wrong = list(args.stream.check((*at, "stream"), cluster))
    yield from wrong
    if args.stream.is_on_the_volume(cluster):
        for key, given in (("path", args.path), ("readers", args.readers), ("writers", args.writers)):
            if given is not None:
                reason = "given, and the volume holds the records of its stream, which its broker alone mounts"
                yield Fault((*at, key), f"{reason}: leave it out", given=((*at, "stream"),))
        kept = sum(topic.partitions * (topic.retention_gib or 0) for topic in args.stream.topics.values())
        # Beside what is kept, Kafka has the segment of each partition that is being written.
        if kept >= args.size_gib and not wrong:
            reason = f"got {args.size_gib:.12g}, need more than the {kept:.12g} that the partitions of its stream keep"
            yield Fault((*at, "sizeGib"), reason, given=((*at, "stream"),))


def _snapshot_name(name: str, args: "VolumeArgs", backend: Backend) -> Iterator[Fault]:
    """A VolumeSnapshot is an object of Kubernetes'. What a cloud calls its backups, each backend says."""
    snapshot = args.source.snapshot if args.source else None
    if snapshot and backend.capabilities.snapshot == capabilities.CSI and not is_object_name(snapshot):
        reason = f"{snapshot!r} is no name of a VolumeSnapshot; `kubectl get volumesnapshots` lists them"
        yield Fault(("volumes", name, "from", "snapshot"), reason, given=(("volumes", name, "backend"),))


def _origin(name: str, args: "VolumeArgs", declared: Declared, cluster: ClusterArgs) -> Iterator[Fault]:
    origin = args.source.volume if args.source else None
    if origin is None or not args.backend_on(cluster).capabilities.clone:
        return
    at = ("volumes", name, "from", "volume")
    if origin == name:
        yield Fault(at, f"volume {name} cannot begin as a copy of itself, need another volume")
    elif origin not in declared:
        yield unknown_name(at, "volume", origin, declared)
    elif name in _origins(origin, declared):
        yield Fault(at, f"volume {origin} begins as a copy of this one, one of them needs another origin")
    elif other := declared[origin]:
        given = (("volumes", origin),)
        mine, theirs = args.backend_on(cluster), other.backend_on(cluster)
        if mine.same_in_copies != theirs.same_in_copies:
            reason = f"volume {origin} has another backend, and a driver copies only what is its own: need the same"
            yield Fault((*at[:2], "backend"), reason, given=(*given, (*at[:2], "backend")))
        else:
            yield from _smaller(name, args, origin, other)


def _smaller(name: str, args: "VolumeArgs", origin: str, other: "VolumeArgs") -> Iterator[Fault]:
    if args.size_gib < other.size_gib:
        reason = (
            f"got {args.size_gib:.12g}, need at least the {other.size_gib:.12g} of volume {origin}, which it begins as"
        )
        yield Fault(("volumes", name, "sizeGib"), reason, given=(("volumes", origin),))


def _copied(name: str, args: "VolumeArgs", declared: Declared) -> Iterator[Fault]:
    """The origin of a mirror's copy may be lost, also to the settings. Where they still have it, its size is known."""
    origin = args.source.mirror_of if args.source else None
    if origin and (other := declared.get(origin)):
        yield from _smaller(name, args, origin, other)


def _origins(name: str, declared: Declared) -> Iterator[str]:
    """What a volume begins as, what that one begins as, and so on."""
    seen: set[str] = set()
    here: str | None = name
    while here and here not in seen:
        seen.add(here)
        args = declared.get(here)
        here = args.source.volume if args and args.source else None
        if here:
            yield here


def that_rename(cluster: ClusterArgs) -> str:
    """The backends on this kind of cluster that checkpoints can be written to."""
    variants = {kind: cast(type[Backend], variant) for kind, variant in sorted(Backend.variants.items())}
    here = [kind for kind, one in variants.items() if one.clusters is None or cluster.kind in one.clusters]
    return ", ".join(kind for kind in here if variants[kind].capabilities.rename)


def that_share(cluster: ClusterArgs) -> str:
    """The backends on this kind of cluster whose volumes the pods of several nodes can write."""
    return ", ".join(
        kind for kind, row in rows().items() if "ReadWriteMany" in row.access_modes and _is_on(cluster, kind)
    )


def rows() -> dict[str, Capabilities]:
    """The capability matrix: a row for each kind of backend."""
    return {kind: cast(type[Backend], variant).capabilities for kind, variant in sorted(Backend.variants.items())}


def _have(kinds: list[str], cluster: ClusterArgs) -> str:
    """The backends that can: those of this kind of cluster, else those of others."""
    if here := [kind for kind in kinds if _is_on(cluster, kind)]:
        return f"{_listed(here)} it on cluster kind {cluster.kind}"
    elsewhere = f", {_listed(kinds)} it elsewhere" if kinds else ""
    return f"none has it on cluster kind {cluster.kind}{elsewhere}"


def _is_on(cluster: ClusterArgs, kind: str) -> bool:
    clusters = cast(type[Backend], Backend.variants[kind]).clusters
    # A cluster with no driver beside its own has no StorageClass that could do more.
    return cluster.kind in clusters if clusters is not None else not cluster.storage_is_its_own


def _listed(kinds: list[str]) -> str:
    *others, last = kinds
    return f"{', '.join(others)} and {last} have" if others else f"{last} has"
