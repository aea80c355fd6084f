"""A model server's settings with what they mean on its platform, for the parts that create its objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tensorplane.workloads.model_server import manifest as manifests
from tensorplane.workloads.model_server import page as model_page
from tensorplane.workloads.model_server.canary import component as rollouts
from tensorplane.workloads.model_server.canary.manifest import Rollout
from tensorplane.workloads.model_server.exposure import manifest as exposing
from tensorplane.workloads.model_server.exposure import manifest as exposure_manifest
from tensorplane.workloads.model_server.fetched_model import manifest as fetched_model_manifest
from tensorplane.workloads.model_server.fetched_model.manifest import Fetching
from tensorplane.workloads.model_server.manifest import GRPC_PORT, REST_PORT, ConfigFiles
from tensorplane.workloads.model_server.settings import ServerSettings
from tensorplane.workloads.pods.owner import Owner

if TYPE_CHECKING:
    from tensorplane.workloads.component import Platform


@dataclass(frozen=True)
class Serving:
    """One model server."""

    owner: Owner
    args: ServerSettings
    platform: Platform

    @cached_property
    def files(self) -> ConfigFiles | None:
        """TensorFlow Serving's configuration; None for an image that reads streams, which is no TensorFlow Serving."""
        return None if self.args.streams else manifests.config_files(self.owner.identity, self.args)

    @cached_property
    def rollout(self) -> Rollout | None:
        """How new versions are tried; None without a canary."""
        return Rollout.of(self.args)

    @cached_property
    def fetching(self) -> Fetching | None:
        """The models that the pods fetch; None if all are on volumes."""
        models = {name: model for name, model in self.args.served.items() if model.uri}
        if not models:
            return None
        cluster, code = (
            self.platform.cluster.args,
            fetched_model_manifest.code(self.owner.name),
        )
        return Fetching(models, code, cluster.images.python, cluster.catalog_region)

    @cached_property
    def page(self) -> Owner:
        """The owner of the web page's objects."""
        owner = self.owner
        name = f"{owner.name}{model_page.NAME_SUFFIX}"
        return Owner(owner.component, name, owner.namespace, model_page.COMPONENT)

    @cached_property
    def clients(self) -> list[Mapping[str, Any]] | None:
        """Who may connect, besides the server's own page, as peers of a NetworkPolicy; None: everybody."""
        if self.args.clients is None:
            return None
        controller = [rollouts.source(self.owner.name)] if self.rollout else []
        return [*exposing.sources(self.args.clients, self.args.expose), *controller]

    @property
    def by_operator(self) -> bool:
        """Whether Prometheus' operator collects the metrics."""
        return self.platform.settings.prometheus.serving_metrics == "serviceMonitor"

    @property
    def is_monitored(self) -> bool:
        """Whether it has metrics for Prometheus' operator."""
        return self.files is not None and self.by_operator


def allow_connections(serving: Serving) -> None:
    """Lets in the clients, and lets the pods fetch their models."""
    page = [{"podSelector": {"matchLabels": serving.page.selector}}] if serving.args.page else []
    scales = serving.args.scaling is not None and serving.args.scaling.by_metrics
    prometheus = map(exposure_manifest.of_namespace, serving.platform.settings.prometheus.namespaces if scales else ())
    clients = None if serving.clients is None else [*serving.clients, *page, *prometheus]
    serving.owner.allow_clients([GRPC_PORT, REST_PORT], clients)
    if serving.fetching:
        serving.owner.allow_egress(serving.fetching.destinations())
