"""A model server's canary and the controller of its rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pulumi

from tensorplane.components.agent.agent import Volume
from tensorplane.components.base.labels import NAME
from tensorplane.workloads.model_server.canary import controller
from tensorplane.workloads.model_server.canary.controller_objects import NAME_SUFFIX
from tensorplane.workloads.model_server.canary.manifest import Rollout
from tensorplane.workloads.model_server.exposure.manifest import routes
from tensorplane.workloads.model_server.manifest import REST_PORT
from tensorplane.workloads.model_server.settings import ServerSettings
from tensorplane.workloads.pods import references
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.pods.owner import Owner

if TYPE_CHECKING:
    from tensorplane.workloads.component import Platform


def declare(
    rollout: Rollout,
    owner: Owner,
    settings: ServerSettings,
    platform: Platform,
    *,
    config_maps: Sequence[str],
    deployments: Sequence[str],
    depends_on: Sequence[pulumi.Resource],
) -> None:
    """Creates the controller, which writes these ConfigMaps and scales these Deployments, the stable ones first."""
    volumes = [
        _volume(references.mountable(volume, platform.settings), path, read_only=read_only)
        for volume, (path, read_only) in sorted(rollout.volumes().items())
    ]
    request = controller.Request(
        owner.name,
        platform.cluster.args.images.python,
        rollout.description(owner.name, settings),
        volumes=volumes,
        config_maps=config_maps,
        deployments=deployments,
        rest_port=REST_PORT,
        routes=[f"{kind.lower()}s" for kind in routes(settings.expose)],
    )
    controller.declare(request, namespace=owner.namespace.name, depends_on=depends_on, opts=owner.child_options)


def source(server: str) -> dict[str, Any]:
    """The controller as a peer of a NetworkPolicy: it asks the pods for their versions and metrics."""
    return {"podSelector": {"matchLabels": {NAME: f"{server}{NAME_SUFFIX}"}}}


def _volume(claim: Mountable, path: str, *, read_only: bool) -> Volume:
    return Volume(claim.claim, path, claim.labels, read_only)
