"""`pipeline_context`: a pipeline's context from the settings alone, without Pulumi and without a cluster."""

from dataclasses import replace

from tensorplane.components.base.model import Resources
from tensorplane.components.node_groups import placement
from tensorplane.components.queues.manifest import job_labels
from tensorplane.workloads.model_server.manifest import model_url
from tensorplane.workloads.pipeline.manifest import PipelineContext
from tensorplane.workloads.pipeline.settings import PipelineSettings, StageArgs
from tensorplane.workloads.pipeline.stage_pods import Server, StageContext, Stored
from tensorplane.workloads.platform_settings import PlatformSettings
from tensorplane.workloads.pods import references, sources
from tensorplane.workloads.pods.files import bundle
from tensorplane.workloads.training_job import packages, platform_context


def pipeline_context(name: str, settings: PipelineSettings, platform: PlatformSettings) -> PipelineContext:
    """The context of a pipeline of this name. It reads the stages' files and the library from this machine."""
    return PipelineContext(
        name,
        platform.namespace,
        stages={each: _stage(f"{name}-{each}", name, stage, platform) for each, stage in settings.stages.items()},
        datasets={dataset: stored(dataset, platform) for dataset in settings.datasets},
        image=platform.cluster.images.python,
        library=bundle(f"{name}-runtime", sources.steps()),
        placement=placement.spec(platform.fleet, Resources(), interruptible=True),
    )


def _image(stage: StageArgs, platform: PlatformSettings) -> str:
    """The image of a stage's program. Without one, the checks refuse it."""
    images = platform.cluster.images
    if stage.training is None:
        return stage.image or images.training(stage.program_resources.gpus) or ""
    image = images.training(max(role.resources.gpus for role in stage.training.roles()))
    default = packages.image(image, stage.training.packages) if image and images.built_here else image
    return str(stage.training.image or default)


def _stage(job: str, account: str, stage: StageArgs, platform: PlatformSettings) -> StageContext:
    """`job`: the name of the stage's job, if it is one. `account`: the service account of its pods."""
    if stage.training:
        known = replace(platform_context.job_context(job, stage.training, platform), account=account)
        return StageContext(_image(stage, platform), job=known)
    if stage.publish:
        return StageContext("", server=_server(stage.publish, platform))
    resources, queued = stage.program_resources, stage.queue is not None
    constraints = placement.spec(platform.fleet, resources, interruptible=stage.interruptible, queued=queued)
    return StageContext(
        _image(stage, platform),
        constraints,
        job_labels(platform.namespace, stage.queue) if stage.queue else {},
        sources.read(stage.files, platform.project),
        server=_server(stage.server, platform) if stage.server else None,
    )


def _server(target: str, platform: PlatformSettings) -> Server:
    """A model server, by `SERVER` or `SERVER/MODEL`."""
    name, model = target.partition("/")[0], platform.model_names[target]
    url = model_url(name, platform.namespace, model)
    if (folder := platform.models.get(target)) is None:
        return Server(name, model, url)
    volume = references.mountable(folder.volume, platform)
    return Server(name, model, url, volume, folder.path, gated=target in platform.tried)


def stored(name: str, platform: PlatformSettings) -> Stored:
    """A dataset in pods that mount its volume."""
    args = platform.datasets[name]
    others = [
        one.folder(other) for other, one in platform.datasets.items() if other != name and one.volume == args.volume
    ]
    volume = references.mountable(args.volume, platform)
    return Stored(volume, args.folder(name), args.rules, tuple(sorted(others)))
