"""The web page of one model server (`agents/model_page`): a small pod that reaches that server alone, and a Service.

Who may connect to it is up to the server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorplane.components.agent.agent import Agent, Resources
from tensorplane.components.base.labels import SKIP_AWAIT, labels, selector
from tensorplane.components.base.sdk import k8s, pulumi

NAME_SUFFIX = "-page"
"""What the names of the page's objects end with, after the server's name."""
PORT = 80
"""Of the Service."""
COMPONENT = "model-page"
"""Component label of its objects."""
POD_PORT = 8080
"""Of the pod, whose user may not open port 80."""


@dataclass(frozen=True)
class Request:
    """What a model server asks of its page."""

    server: str
    """The server's name, also that of its Service."""
    selector: Mapping[str, str]
    """Labels of the server's pods."""
    port: int
    """Port of the server's REST API."""
    models: Sequence[str]
    ink: float
    """The value of a full pixel."""


def declare(
    request: Request, image: str, *, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> k8s.core.v1.Service:
    """Creates the page; returns its Service. `image`: one with Python."""
    name = f"{request.server}{NAME_SUFFIX}"
    to_server: k8s.networking.v1.NetworkPolicyEgressRuleArgsDict = {
        "to": [{"pod_selector": {"match_labels": request.selector}}],
        "ports": [{"protocol": "TCP", "port": request.port}],
    }
    agent = Agent(
        "model_page",
        name=name,
        component=COMPONENT,
        namespace=namespace,
        image=image,
        resources=Resources(cpu="5m", memory="24Mi", memory_limit="96Mi"),
        egress=[to_server],
        policy_types=["Egress"],
        opts=opts,
    )
    settings = json.dumps({"models": list(request.models), "ink": request.ink})
    agent.deployment(
        agent.pod([str(POD_PORT), f"http://{request.server}:{request.port}", settings], http_port=POD_PORT)
    )
    return k8s.core.v1.Service(
        name,
        # An update does not wait for the page, nor for the server behind it.
        metadata={
            "name": name,
            "namespace": namespace,
            "labels": labels(name, COMPONENT),
            "annotations": {SKIP_AWAIT: "true"},
        },
        spec={
            "selector": selector(name, COMPONENT),
            "ports": [{"name": "http", "port": PORT, "target_port": POD_PORT, "app_protocol": "http"}],
        },
        opts=opts,
    )
