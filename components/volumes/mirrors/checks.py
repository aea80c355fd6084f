"""Checks of mirrors: targets that a backend does not support, volumes that do not fit, invalid intervals."""

from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Problem, unknown_name
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.mirrors import volsync
from tensorplane.components.volumes.mirrors.settings import MirrorArgs
from tensorplane.components.volumes.settings import VolumeArgs

Declared = Mapping[str, VolumeArgs | None]


def find_problems(
    name: str, args: VolumeArgs, declared: Declared, cluster: ClusterArgs, able: str
) -> Iterator[Problem]:
    """Every problem of one volume's mirror, as source or target. `able` names backends that support the target."""
    at = ("volumes", name)
    if args.source and args.source.mirror:
        nowhere = list(_with_volsync((*at, "from", "mirror"), cluster))
        yield from nowhere or _can_receive(at, args.backend_on(cluster), (*at, "from", "mirror"))
        if sender := volsync.sender_to(name, declared):
            yield Problem(
                (*at, "from", "mirror"),
                f"conflicts with volumes.{sender}.mirror, which already writes to this volume; remove one of them",
            )
    mirror = args.mirror
    if mirror is None:
        return
    way = mirror.to.way
    backend = args.backend_on(cluster)
    if mirror.to.volume == name:
        yield Problem((*at, "mirror", "to", way), f"volume {name} cannot be its own mirror; choose another volume")
    elif mirror.to.by_volsync and (nowhere := list(_with_volsync((*at, "mirror", "to", way), cluster))):
        yield from nowhere
    elif way not in backend.capabilities.mirrors:
        ways = " or ".join(sorted(backend.capabilities.mirrors)) or "none"
        reason = f"backend {backend.kind} cannot mirror to a {way} (it mirrors to {ways}); {able}"
        yield Problem((*at, "mirror", "to", way), reason, given=((*at, "backend"),))
    elif mirror.to.by_volsync:
        yield from _often(at, mirror, "VolSync")
        if mirror.to.volume:
            yield from _target(name, args, mirror.to.volume, declared, cluster)
    else:
        yield from _by_backend(at, mirror, backend.capabilities.mirrors[way])


def _by_backend(at: Key, mirror: MirrorArgs, how: str) -> Iterator[Problem]:
    if mirror.to.peer:
        yield from _often(at, mirror, "the CronJob for Ceph mirrors")
    if mirror.alert:
        reason = f"is not supported, because {how} reports the lag itself; remove it"
        yield Problem((*at, "mirror", "alert"), reason, given=((*at, "mirror", "to"),))


def _with_volsync(at: Key, cluster: ClusterArgs) -> Iterator[Problem]:
    if cluster.storage_is_its_own:
        remedy = "use mirror: {to: {pool: mirror}}, or another kind of cluster"
        yield Problem(at, f"VolSync does not run on the {cluster.kind} cluster; {remedy}")


def _often(at: Key, mirror: MirrorArgs, who: str) -> Iterator[Problem]:
    path = (*at, "mirror", "every")
    rule = f"{who} requires an interval that divides an hour or a day; use one such as 15m, 1h or 1d"
    if mirror.every is None:
        yield Problem(path, f"missing, but {rule}", given=(path,))
    elif volsync.schedule(mirror.every) is None:
        yield Problem(path, f"is {mirror.every}, but {rule}")


def _can_receive(at: Key, backend: Backend, path: Key) -> Iterator[Problem]:
    if not backend.capabilities.volsync:
        yield Problem(
            path,
            f"VolSync's pods cannot mount volumes of backend {backend.kind}; use another backend",
            given=((*at, "backend"),),
        )
    elif not backend.renames:
        reason = f"backend {backend.kind} cannot rename files, which VolSync requires; use another backend"
        yield Problem(path, reason, given=((*at, "backend"),))


def _target(name: str, args: VolumeArgs, target: str, declared: Declared, cluster: ClusterArgs) -> Iterator[Problem]:
    at = ("volumes", name, "mirror", "to", "volume")
    if target not in declared:
        yield unknown_name(at, "volume", target, declared)
    elif name in _behind(target, declared):
        circle = ("volumes", *sorted({name, *_behind(target, declared)}))
        yield Problem(at, f"volume {target} is already mirrored to this volume; remove one direction", lacks=circle)
    elif (first := volsync.sender_to(target, declared)) != name:
        yield Problem(at, f"volume {target} is already the mirror of volume {first}; use a volume of its own")
    elif other := declared[target]:
        yield from _can_receive(("volumes", target), other.backend_on(cluster), at)
        if other.size_gib < args.size_gib:
            reason = f"{other.size_gib:g} is less than volume {name}, whose mirror it is; set {args.size_gib:g} or more"
            yield Problem(("volumes", target, "sizeGib"), reason, given=(("volumes", name),))


def _behind(volume: str, declared: Declared) -> Iterator[str]:
    """The volume that this one is mirrored to, then the volume that that one is mirrored to, and so on."""
    visited: set[str] = set()
    here: str | None = volume
    while here and here not in visited:
        visited.add(here)
        args = declared.get(here)
        here = args.mirror.to.volume if args and args.mirror else None
        if here:
            yield here
