"""Checks of volumes across the settings: backends' capabilities, sizes, clones, paths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from tensorplane.components.base import quantities
from tensorplane.components.base.model import is_object_name
from tensorplane.components.base.problems import Key, Note, Problem, caused_by_default, unknown_name
from tensorplane.components.base.produced import Produced
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import capabilities, storage_class_per_volume
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.capabilities import Capabilities
from tensorplane.components.volumes.mirrors import checks, volsync
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.components.volumes.snapshots import snapshot_group
from tensorplane.components.volumes.snapshots.snapshot_schedule import NAME_LIMIT

Declared = Mapping[str, VolumeArgs | None]


def find_problems(volumes: Mapping[str, VolumeArgs], declared: Declared, cluster: ClusterArgs) -> Iterator[Problem]:
    """Every problem, one line each. `declared` maps volumes that failed validation to None."""
    yield from _paths(volumes)
    yield from snapshot_group.find_problems(volumes, set(declared), cluster)
    yield from shared_names(volumes, cluster)
    yield from _together(volumes, cluster)
    for name, args in volumes.items():
        found = _of_volume(name, args, declared, cluster)
        yield from found if args.backend else caused_by_default(("volumes", name, "backend"), found)


def _of_volume(name: str, args: VolumeArgs, declared: Declared, cluster: ClusterArgs) -> Iterator[Problem]:
    at = ("volumes", name)
    backend = args.backend_on(cluster)
    if backend.clusters is not None and not backend.is_on(cluster):
        only = " or ".join(sorted(backend.clusters))
        reason = f"{backend.kind} requires cluster kind {only}, but the cluster is {cluster.kind}; use another backend"
        yield Problem((*at, "backend"), reason, given=(("cluster", "kind"),))
        return
    found = list(_modes(at, args, backend, cluster))
    yield from found or _read_only(name, args, declared, backend)
    yield from _size(at, args, backend)
    yield from _lacking(at, args, backend, cluster)
    yield from checks.find_problems(name, args, declared, cluster, _able_to_mirror(args, cluster))
    yield from _snapshots(name, args, backend)
    yield from _snapshot_name(name, args, backend)
    yield from _origin(name, args, declared, cluster)
    yield from _copied(name, args, declared)
    for problem in backend.check(args, cluster):
        yield Problem((*at, *problem.path), problem.reason, given=_given(at, problem))


def notes(volumes: Mapping[str, VolumeArgs], cluster: ClusterArgs) -> Iterator[Note]:
    """Notes about volumes that have no problems."""
    for name, args in volumes.items():
        for note in args.backend_on(cluster).notes(cluster):
            yield Note(("volumes", name, *note.path), note.text)


def _together(volumes: Mapping[str, VolumeArgs], cluster: ClusterArgs) -> Iterator[Problem]:
    """Limits that all volumes of one backend share."""
    kinds = {(backend := args.backend_on(cluster)).kind: backend for args in volumes.values()}
    for kind, backend in sorted(kinds.items()):
        if backend.is_on(cluster):
            of_kind = {name: args for name, args in volumes.items() if args.backend_on(cluster).kind == kind}
            for problem in backend.check_together(of_kind, cluster):
                yield Problem(("volumes", *problem.path), problem.reason, given=_given(("volumes",), problem))


def _given(at: Key, problem: Problem) -> tuple[Key, ...]:
    """The settings that a backend's problem depends on, of the cluster and of the volume."""
    return tuple(path if path[0] == "cluster" else (*at, *path) for path in problem.given)


def _paths(volumes: Mapping[str, VolumeArgs]) -> Iterator[Problem]:
    """Each volume has a path of its own, and no path is inside another."""
    taken = {args.path: name for name, args in reversed(list(volumes.items())) if args.path}
    for name, args in volumes.items():
        for path, other in taken.items():
            if args.path and name != other and (args.path == path or args.path.startswith(f"{path}/")):
                reason = f"{args.path} is already used by volume {other} ({path}); use a path of its own"
                yield Problem(("volumes", name, "path"), reason, given=(("volumes", other, "path"),))
                break


def _modes(at: Key, args: VolumeArgs, backend: Backend, cluster: ClusterArgs) -> Iterator[Problem]:
    for mode in args.access_modes or ():
        if mode not in backend.capabilities.access_modes:
            able = _have([kind for kind, row in rows().items() if mode in row.access_modes], cluster)
            yield Problem(
                (*at, "accessModes"),
                f"backend {backend.kind} does not support {mode}; {able}",
                given=((*at, "backend"),),
            )


def _read_only(name: str, args: VolumeArgs, declared: Declared, backend: Backend) -> Iterator[Problem]:
    """A read-only volume that starts empty, or that a mirror must write to."""
    at = ("volumes", name)
    if args.access_modes != ["ReadOnlyMany"]:
        return
    sender = volsync.sender_to(name, declared)
    if sender or (args.source and args.source.mirror):
        reason = "is ReadOnlyMany only, but VolSync writes the mirror's data to this volume"
        given = ((*at, "from"), *((("volumes", sender),) if sender else ()))
        yield Problem((*at, "accessModes"), f"{reason}; use ReadWriteMany or ReadWriteOnce", given=given)
    elif args.source is None and not backend.may_have_content:
        reason = "is ReadOnlyMany only, but the volume starts empty, so it would stay empty"
        remedy = "set `from`, or use ReadWriteMany and mount the volume with readOnly"
        given = ((*at, "backend"), (*at, "from"))
        yield Problem((*at, "accessModes"), f"{reason}; {remedy}", given=given)


def _size(at: Key, args: VolumeArgs, backend: Backend) -> Iterator[Problem]:
    row = backend.capabilities
    if quantities.mebibytes(args.size_gib) < 1:
        yield Problem((*at, "sizeGib"), f"{args.size_gib:g} GiB is less than 1 MiB; set 0.001 or more")
    elif args.size_gib < row.min_gib or (row.max_gib is not None and args.size_gib > row.max_gib):
        reason = f"invalid size {args.size_gib:.12g} for backend {backend.kind}; use {capabilities.sizes(row)}"
        yield Problem((*at, "sizeGib"), reason, given=((*at, "backend"),))


def _lacking(at: Key, args: VolumeArgs, backend: Backend, cluster: ClusterArgs) -> Iterator[Problem]:
    """Requested features that the backend does not support; the message names backends that do."""
    source = args.source
    features = (
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
    for key, feature, wanted in features:
        if wanted and getattr(backend.capabilities, feature) is None:
            able = _have([kind for kind, row in rows().items() if getattr(row, feature)], cluster)
            reason = f"backend {backend.kind} does not support {capabilities.FEATURES[feature]}; {able}"
            yield Problem((*at, *key), reason, given=((*at, "backend"),))


def _able_to_mirror(args: VolumeArgs, cluster: ClusterArgs) -> str:
    """Which backends support the target of the mirror, as a remedy."""
    way = args.mirror.to.way if args.mirror else ""
    return _have([kind for kind, row in rows().items() if way in row.mirrors], cluster)


def _snapshots(name: str, args: VolumeArgs, backend: Backend) -> Iterator[Problem]:
    if args.snapshots is None or backend.capabilities.snapshot != capabilities.CSI:
        return
    at = ("volumes", name)
    if backend.csi_driver is None:
        reason = "missing, but snapshots require it; set the CSI driver of the StorageClass (kubectl get csidrivers)"
        yield Problem((*at, "backend", "driver"), reason, given=((*at, "snapshots"), (*at, "backend")))
    if len(name) > NAME_LIMIT:
        yield Problem(
            at, f"the name has {len(name)} characters; shorten it to {NAME_LIMIT}, the limit with scheduled snapshots"
        )


def _snapshot_name(name: str, args: VolumeArgs, backend: Backend) -> Iterator[Problem]:
    """Names of VolumeSnapshots follow Kubernetes. Each backend checks the ids of its cloud's backups."""
    snapshot = args.source.snapshot if args.source else None
    if snapshot and backend.capabilities.snapshot == capabilities.CSI and not is_object_name(snapshot):
        reason = f"{snapshot!r} is not a valid name of a VolumeSnapshot; choose one from kubectl get volumesnapshots"
        yield Problem(("volumes", name, "from", "snapshot"), reason, given=(("volumes", name, "backend"),))


def _origin(name: str, args: VolumeArgs, declared: Declared, cluster: ClusterArgs) -> Iterator[Problem]:
    origin = args.source.volume if args.source else None
    if origin is None or not args.backend_on(cluster).capabilities.clone:
        return
    at = ("volumes", name, "from", "volume")
    if origin == name:
        yield Problem(at, f"volume {name} cannot be a clone of itself; choose another volume")
    elif origin not in declared:
        unknown = unknown_name(at, "volume", origin, declared)
        yield replace(unknown, reason=f"{unknown.reason}, or {_freed(name)}")
    elif name in _origins(origin, declared):
        reason = f"volume {origin} is itself a clone of this volume; choose another volume for one of them"
        yield Problem(at, reason, lacks=("volumes", *sorted({name, *_origins(origin, declared)})))
    elif other := declared[origin]:
        given = (("volumes", origin),)
        mine, theirs = args.backend_on(cluster), other.backend_on(cluster)
        if not _agree(mine.same_in_copies, theirs.same_in_copies):
            reason = (
                f"volume {origin} has another backend, but a CSI driver clones only its own volumes; use the same, or "
                f"{_freed(name)}"
            )
            yield Problem((*at[:2], "backend"), reason, given=(*given, (*at[:2], "backend")))
        else:
            yield from _smaller(name, args, origin, other, f", or {_freed(name)}")


def _agree(mine: Sequence[object], theirs: Sequence[object]) -> bool:
    """Whether these settings are the same. One that another resource produces may be any value."""
    pairs = zip(mine, theirs, strict=False)
    return len(mine) == len(theirs) and all(
        one == other or isinstance(one, Produced) or isinstance(other, Produced) for one, other in pairs
    )


def _smaller(name: str, args: VolumeArgs, origin: str, other: VolumeArgs, remedy: str = "") -> Iterator[Problem]:
    if args.size_gib < other.size_gib:
        least = f"{other.size_gib:.12g}"
        reason = f"{args.size_gib:.12g} is less than volume {origin}, which it copies; set {least} or more{remedy}"
        yield Problem(("volumes", name, "sizeGib"), reason, given=(("volumes", origin),))


def _freed(clone: str) -> str:
    """How the origin of an existing clone can be changed or removed from the settings."""
    return f"remove `from` if volume {clone} already exists (its data stays)"


def _copied(name: str, args: VolumeArgs, declared: Declared) -> Iterator[Problem]:
    """A mirror's copy is at least as large as its origin, where the settings still declare the origin."""
    origin = args.source.mirror_of if args.source else None
    if origin and (other := declared.get(origin)):
        yield from _smaller(name, args, origin, other)


def _origins(name: str, declared: Declared) -> Iterator[str]:
    """The volume that this one clones, then the volume that that one clones, and so on."""
    visited: set[str] = set()
    here: str | None = name
    while here and here not in visited:
        visited.add(here)
        args = declared.get(here)
        here = args.source.volume if args and args.source else None
        if here:
            yield here


def that_rename(cluster: ClusterArgs) -> str:
    """Backends on this kind of cluster that can rename files, which checkpoints require."""
    variants = {kind: cast(type[Backend], variant) for kind, variant in sorted(Backend.variants.items())}
    here = [kind for kind, one in variants.items() if one.clusters is None or cluster.kind in one.clusters]
    return ", ".join(kind for kind in here if variants[kind].capabilities.rename)


def that_link(cluster: ClusterArgs) -> str:
    """Backends on this kind of cluster with hard links, which datasets require."""
    return ", ".join(kind for kind, row in rows().items() if row.hard_links and _is_on(cluster, kind))


def that_share(cluster: ClusterArgs) -> str:
    """Backends on this kind of cluster with ReadWriteMany."""
    return ", ".join(
        kind for kind, row in rows().items() if "ReadWriteMany" in row.access_modes and _is_on(cluster, kind)
    )


def that_teams_mount(cluster: ClusterArgs) -> str:
    """Backends on this kind of cluster whose volumes teams' namespaces can have, as a remedy."""
    return _have([kind for kind, row in rows().items() if row.supports_teams], cluster)


def rows() -> dict[str, Capabilities]:
    """The capability matrix: a row for each kind of backend."""
    return {kind: cast(type[Backend], variant).capabilities for kind, variant in sorted(Backend.variants.items())}


def _have(kinds: list[str], cluster: ClusterArgs) -> str:
    """Which backends can, as a remedy: those on this kind of cluster, else those on others."""
    if here := [kind for kind in kinds if _is_on(cluster, kind)]:
        return f"use {_kinds_text(here)}"
    elsewhere = f" (on other clusters: {_kinds_text(kinds)})" if kinds else ""
    return f"no backend on cluster kind {cluster.kind} does{elsewhere}"


def _is_on(cluster: ClusterArgs, kind: str) -> bool:
    clusters = cast(type[Backend], Backend.variants[kind]).clusters
    # A cluster whose storage is its own has no other StorageClasses.
    return cluster.kind in clusters if clusters is not None else not cluster.storage_is_its_own


def _kinds_text(kinds: list[str]) -> str:
    *others, last = kinds
    return f"{', '.join(others)} or {last}" if others else last


def shared_names(volumes: Mapping[str, VolumeArgs], cluster: ClusterArgs) -> Iterator[Problem]:
    """One line for each name that two volumes would share."""
    taken: dict[tuple[str, str], str] = {}
    for name, args in volumes.items():
        for what, made in _made(name, args, cluster):
            if (other := taken.setdefault((what, made), name)) != name:
                reason = f"its {what} would be {made}, as that of volume {other}; use another name"
                yield Problem(("volumes", name), reason, given=(("volumes", other),))


def _made(name: str, args: VolumeArgs, cluster: ClusterArgs) -> Iterator[tuple[str, str]]:
    """Kinds and names of a volume's objects that can collide with those of another volume."""
    backend = args.backend_on(cluster)
    yield "claim", name
    copied = args.mirror and args.mirror.to.by_volsync and backend.mirror_class
    if copied:
        yield "claim", volsync.claim_of_copy(name)
    if backend.class_per_volume and backend.snapshot_class:
        yield "StorageClass", name
        if copied:
            yield "StorageClass", storage_class_per_volume.copies(name)
    yield from backend.makes(name, args)
