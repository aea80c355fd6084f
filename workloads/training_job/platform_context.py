"""`job_context`: a job's context from the settings alone, without Pulumi and without a cluster."""

from collections.abc import Collection

from tensorplane.components.queues.manifest import job_labels
from tensorplane.workloads.platform_settings import PlatformSettings
from tensorplane.workloads.pods import placement, references, sources
from tensorplane.workloads.training_job import packages
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.settings import JobSettings


def job_context(
    name: str,
    settings: JobSettings,
    platform: PlatformSettings,
    in_secret: Collection[str] = (),
    *,
    team: str | None = None,
    shares_library: bool = False,
) -> JobContext:
    """The context of a job of this name. It reads the job's files and tensorplane's library from this machine.

    `in_secret`: the variables whose values are in a Secret. `team`: in whose namespace it runs, instead of the stack's.
    `shares_library`: whether it mounts the library of the stack's namespace, instead of one of its own.
    """
    capacity = platform.capacities.get(settings.queue or "")
    return JobContext(
        name,
        platform.teams[team] if team else platform.namespace,
        placement=placement.of(settings, platform.cluster, platform.fleet, capacity),
        volumes={volume: references.mountable(volume, platform) for volume in settings.volumes},
        streams={stream: references.client(stream, use, platform) for stream, use in settings.streams.items()},
        queue_labels=job_labels(platform.namespace, settings.queue) if settings.queue else {},
        files=sources.read(settings.sources, platform.project),
        library=sources.library(),
        shares_library=shares_library,
        in_secret=in_secret,
        packages=() if platform.cluster.images.built_here else packages.locked(settings.packages),
        publish_to=platform.models.get(settings.on_success.publish or "") if settings.on_success else None,
    )
