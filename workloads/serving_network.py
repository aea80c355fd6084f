"""Which connections of a model server's pods NetworkPolicies allow."""

from workloads.manifests.model_server import GRPC_PORT, REST_PORT
from workloads.serving import Serving


def allow(serving: Serving) -> None:
    """Let in the clients, and let the pods fetch their models."""
    page = [{"podSelector": {"matchLabels": serving.page.selector}}] if serving.args.page else []
    clients = None if serving.clients is None else [*serving.clients, *page]
    serving.owner.allow_clients([GRPC_PORT, REST_PORT], clients)
    if serving.fetching:
        serving.owner.allow_egress(serving.fetching.destinations())
