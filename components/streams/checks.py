"""Checks of streams, beyond their shape."""

from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Note, Problem, unknown_name
from tensorplane.components.base.produced import known
from tensorplane.components.clusters import storage_class_names
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.streams.broker import StreamBroker
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.components.volumes import checks as volume_checks
from tensorplane.components.volumes.settings import VolumeArgs

Volumes = Mapping[str, VolumeArgs | None]


def find_problems(streams: Mapping[str, StreamArgs], volumes: Volumes, cluster: ClusterArgs) -> Iterator[Problem]:
    """Every problem. `volumes` maps volumes that failed validation to None."""
    yield from _together(streams)
    yield from _one_each(streams)
    for name, args in streams.items():
        broker = args.broker_on(cluster)
        found = [*_clients(name, args), *_broker(name, args, broker, cluster)]
        yield from found
        if broker and _is_on(broker, cluster):
            yield from _volume(name, args, broker, volumes, cluster)
            if not found:
                yield from _capacity(name, args, broker, volumes)


def notes(streams: Mapping[str, StreamArgs], cluster: ClusterArgs) -> Iterator[Note]:
    """Notes about streams without problems."""
    for name, args in streams.items():
        broker = args.broker_on(cluster)
        if broker and (wanted := known(broker.storage_class)) and (text := storage_class_names.note(wanted, cluster)):
            yield Note(("streams", name, "broker", "brokers", "storageClass"), text)


def _is_on(broker: StreamBroker, cluster: ClusterArgs) -> bool:
    return broker.clusters is None or cluster.kind in broker.clusters


def _clients(name: str, args: StreamArgs) -> Iterator[Problem]:
    at = ("streams", name)
    for section, clients in (("groups", args.groups), ("producers", args.producers)):
        for client, settings in clients.items():
            yield from settings.check((*at, section, client), list(args.topics))
    for client in sorted(args.groups.keys() & args.producers.keys()):
        yield Problem(
            (*at, "producers", client),
            "is also the name of a consumer group, but readers and writers are different users; use another name",
        )


def _broker(name: str, args: StreamArgs, broker: StreamBroker | None, cluster: ClusterArgs) -> Iterator[Problem]:
    path = ("streams", name)
    at = (*path, "broker")
    if broker is None:
        reason = f"missing, but cluster kind {cluster.kind} has no default broker; set kind managed or strimzi"
        yield Problem(at, reason, given=(at,))
        return
    if broker.clusters is not None and not _is_on(broker, cluster):
        only = " or ".join(sorted(broker.clusters))
        yield Problem(
            at, f"{broker.kind} requires cluster kind {only}, but the cluster is {cluster.kind}; use another broker"
        )
        return
    yield from broker.check(at)
    if (wanted := known(broker.storage_class)) and (problem := storage_class_names.find_problem(wanted, cluster)):
        yield Problem((*at, "brokers", "storageClass"), problem, given=(("cluster",),))
    yield from broker.check_names(args, path)
    for topic, settings in args.topics.items():
        yield from settings.check((*path, "topics", topic), broker.count)
    if args.mirror:
        yield from broker.check_mirror(args, (*path, "mirror"))


def _volume(
    name: str, args: StreamArgs, broker: StreamBroker, volumes: Volumes, cluster: ClusterArgs
) -> Iterator[Problem]:
    """Problems of `volume`: missing for brokers that require one, set for others."""
    at = ("streams", name, "volume")
    if not broker.on_the_volume:
        if args.volume:
            reason = f"is set, but broker kind {broker.kind} keeps the records on disks of its own; remove it"
            yield Problem(at, reason, given=(("streams", name, "broker"),))
    elif args.volume is None:
        reason = (
            f"missing, but broker kind {broker.kind} keeps the records on a volume; name one that nothing else mounts"
        )
        yield Problem(at, reason, given=(("streams", name, "broker"), at))
    elif args.volume not in volumes:
        yield unknown_name(at, "volume", args.volume, volumes)
    elif volume := volumes[args.volume]:
        yield from _fits(at, args.volume, volume, cluster)
        yield from _alone(name, args.volume, volume)
    if broker.on_the_volume and "retain" in args.model_fields_set:
        reason = "is set, but the records are on a volume, whose own retain applies; remove it"
        yield Problem(("streams", name, "retain"), reason, given=(("streams", name, "broker"),))


def _fits(at: Key, name: str, volume: VolumeArgs, cluster: ClusterArgs) -> Iterator[Problem]:
    """Problems of a volume that a broker cannot use."""
    backend, given = volume.backend_on(cluster), (("volumes", name),)
    if not backend.is_on(cluster):
        return  # reported by the volume's checks
    if not backend.renames:
        reason = f"volume {name} is on backend {backend.kind}, which cannot rename files, as Kafka requires"
        yield Problem(at, f"{reason}; choose one on {volume_checks.that_rename(cluster)}", given=given)
    elif volume.access_modes == ["ReadOnlyMany"]:
        yield Problem(
            at, f"volume {name} is ReadOnlyMany, but the broker writes to it; choose another volume", given=given
        )


def _alone(name: str, volume: str, args: VolumeArgs) -> Iterator[Problem]:
    """Problems of volume settings that only apply to workloads' pods."""
    for key, value in (("path", args.path), ("readers", args.readers), ("writers", args.writers)):
        if value is not None:
            reason = f"is set, but only the broker of stream {name} mounts this volume"
            yield Problem(("volumes", volume, key), f"{reason}; remove it", given=(("streams", name),))


def _capacity(name: str, args: StreamArgs, broker: StreamBroker, volumes: Volumes) -> Iterator[Problem]:
    """Problem of a volume that is too small for the topics' retention."""
    volume = volumes.get(args.volume) if args.volume and broker.on_the_volume else None
    retained = sum(topic.partitions * (topic.retention_gib or 0) for topic in args.topics.values())
    # In addition to retained records, each partition has an active segment.
    if args.volume and volume and retained >= volume.size_gib:
        reason = (
            f"{volume.size_gib:.12g} is not enough for the {retained:.12g} GiB that stream {name} keeps; set more "
            f"than {retained:.12g}"
        )
        yield Problem(("volumes", args.volume, "sizeGib"), reason, given=(("streams", name),))


def _one_each(streams: Mapping[str, StreamArgs]) -> Iterator[Problem]:
    """Problem of a volume that two streams use."""
    taken: dict[str, str] = {}
    for name, args in streams.items():
        if args.volume and (other := taken.setdefault(args.volume, name)) != name:
            reason = f"volume {args.volume} holds the records of stream {other}; name another volume"
            yield Problem(("streams", name, "volume"), reason, given=(("streams", other),))


def _together(streams: Mapping[str, StreamArgs]) -> Iterator[Problem]:
    """Problems of objects that two streams would create: a Kafka cluster, a topic or a user."""
    brokers: dict[str, str] = {}
    topics: dict[str, tuple[str, str]] = {}
    users: dict[str, str] = {}
    for name, args in streams.items():
        at, broker = ("streams", name), args.broker
        if broker is None or broker.kafka is None:
            continue
        if broker.count and (other := brokers.setdefault(broker.kafka, name)) != name:
            reason = f"stream {other} already creates Kafka {broker.kafka}; remove `brokers` here"
            yield Problem((*at, "broker", "brokers"), reason, given=(("streams", other),))
        for topic in args.topics:
            other, kafka = topics.setdefault(topic, (name, broker.kafka))
            if other != name:
                one = f"topic of Kafka {kafka}" if kafka == broker.kafka else f"KafkaTopic (of Kafka {kafka})"
                reason = f"stream {other} already has this {one}; use another name"
                yield Problem((*at, "topics", topic), reason, given=(("streams", other),))
        for user in broker.users(args, name):
            if (other := users.setdefault(user, name)) != name:
                reason = f"stream {other} already has the user {user}; use another name"
                yield Problem(at, reason, given=(("streams", other),))
