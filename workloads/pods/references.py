"""The volumes and streams that a workload refers to, as plain data for its manifests."""

from tensorplane.components.streams.access import client_label
from tensorplane.workloads.platform_settings import PlatformSettings
from tensorplane.workloads.pods import streams
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.pods.pod import SecretFiles
from tensorplane.workloads.pods.streams import StreamUseArgs
from tensorplane.workloads.scaling import manifest as scaling_manifest


def mountable(name: str, platform: PlatformSettings) -> Mountable:
    """A volume that a workload mounts. Its claim has its name."""
    args = platform.volumes[name]
    metadata = args.backend_on(platform.cluster).pod_metadata
    one_node = args.for_one_node(platform.cluster)
    return Mountable(name, args.path, one_node, dict(metadata.labels), dict(metadata.annotations))


def lag(stream: str, topic: str, use: StreamUseArgs, platform: PlatformSettings) -> scaling_manifest.Lag:
    """The records of a topic that a consumer group has not read. `use`: that of the group."""
    access = platform.streams[stream].access(stream, use.client, platform.cluster, platform.namespace)
    return scaling_manifest.Lag(
        access.bootstrap_from(platform.namespace),
        topic,
        use.client,
        access.keda_settings(),
        access.keda_secrets(),
        access.username if access.by_password else None,
    )


def client(name: str, use: StreamUseArgs, platform: PlatformSettings, *, known_as: str | None = None) -> streams.Client:
    """A stream that a workload reads or writes. `known_as`: its name in the pods; by default its own."""
    args, folder = platform.streams[name], streams.folder(known_as or name)
    access = args.access(name, use.client, platform.cluster, platform.namespace)
    return streams.Client(
        access.bootstrap,
        args.topics_of(use.client),
        access.settings(folder),
        group=use.group,
        password_file=access.password_file(folder),
        secrets={at: SecretFiles(secret, keys) for at, (secret, keys) in access.secrets(folder).items()},
        labels=client_label(name),
    )
