"""Checks of what pods mount and use: volumes, files of the project, streams."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tensorplane.components.base.problems import Key, Problem, did_you_mean, unknown_name
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.components.volumes import access
from tensorplane.components.volumes import checks as volume_check
from tensorplane.components.volumes.mirrors import volsync
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.stack_file.nearest import is_close
from tensorplane.workloads.pods import sources
from tensorplane.workloads.pods.files import of_script
from tensorplane.workloads.pods.mounts import Location, MountArgs
from tensorplane.workloads.pods.streams import StreamUseArgs


def check_volume(name: str, at: Key, declared: Mapping[str, VolumeArgs | None]) -> Iterator[Problem]:
    """Problem of a volume that is not declared."""
    if name not in declared:
        yield unknown_name(at, "volume", name, declared)


def check_stream(name: str, at: Key, records: Mapping[str, str]) -> Iterator[Problem]:
    """Problem of a volume with the records of a stream: see `Declared.records`."""
    if stream := records.get(name):
        remedy = "mount another volume, and read the records with `streams`"
        reason = f"volume {name} has the records of stream {stream}; {remedy}"
        yield Problem(at, reason, given=(("streams", stream),))


def check_access(
    account: str, name: str, at: Key, declared: Mapping[str, VolumeArgs | None], *, read_only: bool
) -> Iterator[Problem]:
    """Problem of a volume that the workload may not mount."""
    volume = declared.get(name)
    if volume and not access.may_mount(volume, account, read_only=read_only):
        lists = "readers or writers" if read_only else "writers"
        # Perhaps the name of another service account, perhaps a misspelt one.
        members = {*(volume.readers or ()), *(volume.writers or ())} - {account}
        similar = [one for one in sorted(members) if is_close(account, [one])]
        have = f", which have {similar[0]}" if similar else ""
        reason = f"volume {name} does not allow {account} to mount it; add it to the volume's {lists}{have}"
        yield Problem(at, reason, given=(("volumes", name),))


def check_mounts(
    mounts: Mapping[str, MountArgs],
    at: Key,
    declared: Mapping[str, VolumeArgs | None],
    records: Mapping[str, str],
    *,
    account: str,
) -> Iterator[Problem]:
    """Problems of mounts: unknown volumes, volumes that the workload may not mount, two volumes at one path."""
    mounted: dict[str, str] = {}
    for volume, mount in mounts.items():
        yield from check_volume(volume, (*at, volume), declared)
        yield from check_access(account, volume, (*at, volume), declared, read_only=mount.read_only)
        if not mount.read_only:
            yield from check_mirror(volume, (*at, volume), declared)
        yield from check_stream(volume, (*at, volume), records)
        if (args := declared.get(volume)) and args.access_modes == ["ReadOnlyMany"] and not mount.read_only:
            reason = f"volume {volume} is read-only; set readOnly: true"
            yield Problem((*at, volume), reason, given=(("volumes", volume),))
        own = args.path if (args := declared.get(volume)) else None
        if mount.path and own and mount.path != own:
            reason = f"path is {mount.path}, but volume {volume} is mounted at {own} in every pod; remove path"
            yield Problem((*at, volume), reason, given=(("volumes", volume),))
        path = mount.path or own
        if path is None:
            if args:
                reason = f"no mount path is set here or in volume {volume}; set one such as /{volume}"
                yield Problem((*at, volume), reason, given=(("volumes", volume),))
        elif (other := mounted.setdefault(path, volume)) != volume:
            yield Problem((*at, volume), f"{path} is already the mount path of volume {other}; use another path")
    yield from _inside_each_other(mounted, at)


def _inside_each_other(mounted: Mapping[str, str], at: Key) -> Iterator[Problem]:
    """Problems of mount paths inside another volume, where a mount point would have to be created."""
    for path, volume in mounted.items():
        outer = next((other for other in mounted if path.startswith(f"{other}/")), None)
        if outer:
            reason = f"{path} is inside {outer}, the mount path of volume {mounted[outer]}"
            given = ((*at, mounted[outer]), ("volumes", volume), ("volumes", mounted[outer]))
            yield Problem((*at, volume), f"{reason}; use a path outside it, such as /{volume}", given=given)


def check_mirror(name: str, at: Key, declared: Mapping[str, VolumeArgs | None]) -> Iterator[Problem]:
    """Problem of a writable mount of a mirror, which VolSync overwrites."""
    volume, sender = declared.get(name), volsync.sender_to(name, declared)
    if sender and sender != name:
        reason = f"volume {name} is the mirror of volume {sender}, which overwrites it; mount it with readOnly: true"
        yield Problem(at, reason, given=(("volumes", sender),))
    elif volume and volume.source and volume.source.mirror:
        reason = (
            f"volume {name} is the mirror of a volume of another cluster, which overwrites it; mount it with "
            f"readOnly: true"
        )
        yield Problem(at, reason, given=(("volumes", name),))


def check_location(
    location: Location,
    at: Key,
    mounts: Mapping[str, MountArgs],
    declared: Mapping[str, VolumeArgs | None],
    cluster: ClusterArgs,
) -> Iterator[Problem]:
    """Problems of a folder for checkpoints or models: its volume must be mounted, writable and able to rename."""
    if location.volume not in declared:
        yield unknown_name((*at, "volume"), "volume", location.volume, declared)
    elif location.volume not in mounts:
        reason = f"volume {location.volume} is not mounted here; add it to `volumes`"
        here = (*at[:-1], "volumes")
        # A mount of an unknown volume may be a misspelt mount of this one.
        given = ((*here, location.volume), *((*here, name) for name in mounts if name not in declared))
        yield Problem((*at, "volume"), reason, given=given, lacks=given[0])
    elif mounts[location.volume].read_only:
        yield Problem(
            (*at, "volume"),
            f"volume {location.volume} is mounted read-only here, but must be writable; remove readOnly",
        )
    elif (volume := declared[location.volume]) and not (backend := volume.backend_on(cluster)).renames:
        reason = f"volume {location.volume} is on backend {backend.kind}, which cannot rename files"
        remedy = f"use a volume on {volume_check.that_rename(cluster)}"
        yield Problem((*at, "volume"), f"{reason}; {remedy}", given=(("volumes", location.volume),))


LIMIT_BYTES = 16 * 1024 * 1024
"""Limit of all files of a job. They are in ConfigMaps of 1 MiB each, and so in etcd and in Pulumi's state."""


@dataclass(frozen=True)
class _Entry:
    """One source of a job's files."""

    key: Key
    """The setting that names it, relative to the job."""
    target: str
    """Its path in the pod."""
    source: str
    origin: str
    """The file or folder that the setting names: the source, or the script in it."""

    def found(self, project: Path | None) -> dict[str, Path]:
        """Its files by path in the pod. Raises OSError with the reason if there are none."""
        local = sources.located(self.origin, project)
        if not local.exists():
            raise FileNotFoundError(f"no such file; correct the path, which is relative to the project{_near(local)}")
        return dict(sources.found(self.target, self.source, project))


def check_files(script: str | None, files: Mapping[str, str], at: Key, project: Path | None) -> Iterator[Problem]:
    """Problems of a job's files: missing sources, one path twice, paths inside files, total size. `at`: its path.

    `project`: the folder that the sources are relative to; None: this project.
    """
    local: dict[str, Path] = {}
    origin: dict[str, Key] = {}
    for entry in _entries(script, files):
        key = (*at, *entry.key)
        try:
            found = entry.found(project)
        except OSError as error:
            yield Problem(key, f"{entry.origin}: {error.strerror or error}")
            continue
        if twice := sorted(path for path in found if path in local and local[path] != found[path]):
            other = origin[twice[0]]
            reason = f"{twice[0]} is also in {'.'.join(other[len(at) :])}; rename or remove one of them"
            yield Problem(key, reason, given=(other,))
        local |= found
        origin |= dict.fromkeys(found, key)
    yield from _inside_files(origin)
    yield from _too_large(local, at)


def paths_in_pod(script: str | None, files: Mapping[str, str], project: Path | None) -> list[str]:
    """Paths of all files in the pod; of a missing source, its own."""
    found: list[str] = []
    for entry in _entries(script, files):
        try:
            found += entry.found(project)
        except OSError:
            found.append(entry.target)
    return found


def _entries(script: str | None, files: Mapping[str, str]) -> Iterator[_Entry]:
    if script:
        yield from (_Entry(("script",), target, source, script) for target, source in of_script(script).items())
    yield from (_Entry(("files", target), target, source, source) for target, source in files.items())


def _inside_files(origin: Mapping[str, Key]) -> Iterator[Problem]:
    for path, key in origin.items():
        outer = next((str(parent) for parent in Path(path).parents if str(parent) in origin), None)
        if outer:
            yield Problem(key, f"{outer!r} is a file, so nothing can be inside it; use another path")


def _too_large(local: Mapping[str, Path], at: Key) -> Iterator[Problem]:
    sizes = {path: found.stat().st_size for path, found in local.items()}
    total = sum(sizes.values())
    if total > LIMIT_BYTES:
        largest = max(sizes, key=sizes.__getitem__)
        limit = f"more than the {LIMIT_BYTES:,} that go into ConfigMaps (largest: {largest})"
        reason = f"the files have {total:,} bytes, {limit}; put data on a volume or into the image"
        yield Problem((*at, "files"), reason, given=((*at, "script"),))


def _near(path: Path) -> str:
    siblings: Iterable[Path] = path.parent.iterdir() if path.parent.is_dir() else ()
    return did_you_mean(path.name, [child.name for child in siblings])


def check_stream_uses(
    uses: Mapping[str, StreamUseArgs], at: Key, declared: Mapping[str, StreamArgs | None]
) -> Iterator[Problem]:
    """Problems of unknown streams, consumer groups and producers."""
    for name, use in uses.items():
        if name not in declared:
            yield unknown_name((*at, name), "stream", name, declared)
        elif stream := declared[name]:
            key, known = ("group", stream.groups) if use.group else ("producer", stream.producers)
            if use.client not in known:
                problem = unknown_name((*at, name, key), key, use.client, known)
                yield Problem(problem.path, problem.reason, given=(("streams", name),))
