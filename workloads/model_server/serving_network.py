"""Which connections of a model server's pods NetworkPolicies allow."""

from workloads.model_server.exposure import manifest as exposure_manifest
from workloads.model_server.manifest import GRPC_PORT, REST_PORT
from workloads.model_server.serving import Serving


def allow(serving: Serving) -> None:
    """Let in the clients, and let the pods fetch their models."""
    page = [{"podSelector": {"matchLabels": serving.page.selector}}] if serving.args.page else []
    scales = serving.args.scaling is not None and serving.args.scaling.by_metrics
    prometheus = map(exposure_manifest.of_namespace, serving.platform.settings.prometheus.namespaces if scales else ())
    clients = None if serving.clients is None else [*serving.clients, *page, *prometheus]
    serving.owner.allow_clients([GRPC_PORT, REST_PORT], clients)
    if serving.fetching:
        serving.owner.allow_egress(serving.fetching.destinations())
