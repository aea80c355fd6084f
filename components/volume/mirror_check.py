"""What is wrong with the mirrors of a stack: places that a backend has not, ends that do not fit, nonsense of time."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from components.cluster import ClusterArgs
from components.faults import Fault, Key, unknown_name
from components.volume import volsync
from components.volume.backend import Backend
from components.volume.mirror import MirrorArgs

if TYPE_CHECKING:
    from components.volume import VolumeArgs

Declared = Mapping[str, "VolumeArgs | None"]


def faults(name: str, args: "VolumeArgs", declared: Declared, cluster: ClusterArgs, able: str) -> Iterator[Fault]:
    """Every fault of one volume's mirror, and of its being one. `able` tells who has mirrors of that way."""
    at = ("volumes", name)
    if args.source and args.source.mirror:
        nowhere = list(_with_volsync((*at, "from", "mirror"), cluster))
        yield from nowhere or _can_receive(at, args.backend_on(cluster), (*at, "from", "mirror"))
        if sender := volsync.sender_to(name, declared):
            yield Fault(
                (*at, "from", "mirror"), f"given, and volume {sender} is mirrored into this one: need one of both"
            )
    mirror = args.mirror
    if mirror is None:
        return
    way = mirror.to.way
    backend = args.backend_on(cluster)
    if mirror.to.volume == name:
        yield Fault((*at, "mirror", "to", way), f"volume {name} cannot be its own mirror, need another volume")
    elif mirror.to.by_volsync and (nowhere := list(_with_volsync((*at, "mirror", "to", way), cluster))):
        yield from nowhere
    elif way not in backend.capabilities.mirrors:
        ways = " or ".join(sorted(backend.capabilities.mirrors)) or "nowhere"
        reason = f"backend {backend.kind} has no mirrors there, only to {ways}; {able}"
        yield Fault((*at, "mirror", "to", way), reason, given=((*at, "backend"),))
    elif mirror.to.by_volsync:
        yield from _often(at, mirror, "VolSync")
        if mirror.to.volume:
            yield from _target(name, args, mirror.to.volume, declared, cluster)
    else:
        yield from _by_backend(at, mirror, backend.capabilities.mirrors[way])


def _by_backend(at: Key, mirror: MirrorArgs, how: str) -> Iterator[Fault]:
    if mirror.to.peer:
        yield from _often(at, mirror, "the CronJob beside Rook")
    if mirror.alert:
        yield Fault((*at, "mirror", "alert"), f"given, and {how} tells its lag elsewhere")


def _with_volsync(at: Key, cluster: ClusterArgs) -> Iterator[Fault]:
    if cluster.storage_is_its_own:
        need = "need another kind of cluster, or mirror: {to: {pool: mirror}}"
        yield Fault(at, f"given, and VolSync is not on the {cluster.kind} cluster: {need}")


def _often(at: Key, mirror: MirrorArgs, who: str) -> Iterator[Fault]:
    path = (*at, "mirror", "every")
    need = f"{who} needs a part of an hour or of a day, such as 15m, 1h or 1d"
    if mirror.every is None:
        yield Fault(path, f"missing, {need}", given=(path,))
    elif volsync.schedule(mirror.every) is None:
        yield Fault(path, f"got {mirror.every}, {need}")


def _can_receive(at: Key, backend: Backend, where: Key) -> Iterator[Fault]:
    if not backend.capabilities.volsync:
        yield Fault(where, f"VolSync's pods cannot mount what backend {backend.kind} has", given=((*at, "backend"),))
    elif not backend.renames:
        reason = f"backend {backend.kind} cannot rename files, by which VolSync puts them in place"
        yield Fault(where, reason, given=((*at, "backend"),))


def _target(name: str, args: "VolumeArgs", target: str, declared: Declared, cluster: ClusterArgs) -> Iterator[Fault]:
    at = ("volumes", name, "mirror", "to", "volume")
    if target not in declared:
        yield unknown_name(at, "volume", target, declared)
    elif name in _behind(target, declared):
        yield Fault(at, f"volume {target} is mirrored into this one, and the last change would win: need one direction")
    elif (first := volsync.sender_to(target, declared)) != name:
        yield Fault(at, f"volume {target} is the mirror of volume {first} already, need a volume for each")
    elif other := declared[target]:
        yield from _can_receive(("volumes", target), other.backend_on(cluster), at)
        if other.size_gib < args.size_gib:
            reason = f"got {other.size_gib:g}, need at least the {args.size_gib:g} of volume {name}, whose mirror it is"
            yield Fault(("volumes", target, "sizeGib"), reason, given=(("volumes", name),))


def _behind(volume: str, declared: Declared) -> Iterator[str]:
    """Where a volume is mirrored to, where that one is, and so on."""
    seen: set[str] = set()
    here: str | None = volume
    while here and here not in seen:
        seen.add(here)
        args = declared.get(here)
        here = args.mirror.to.volume if args and args.mirror else None
        if here:
            yield here
