"""The Job that creates a broker's topics: a new Job for each change of the settings and for a new disk."""

from __future__ import annotations

import json

from tensorplane.components.agent.agent import Agent, Resources
from tensorplane.components.base.names import digest
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.streams.access import client_label
from tensorplane.components.streams.broker import Request
from tensorplane.components.streams.brokers.embedded.deployment import address

_DEADLINE_SECONDS = 300


def declare(request: Request, broker: pulumi.Resource, opts: pulumi.ResourceOptions) -> k8s.batch.v1.Job:
    """Creates the Job. `pulumi up` waits until it succeeds, so that readers find their topics."""
    wanted = {name: args.spec(1) for name, args in sorted(request.args.topics.items())}
    topics = json.dumps({name: {**spec, "config": _texts(spec["config"])} for name, spec in wanted.items()})
    name = f"{request.name}-topics"
    agent = Agent(
        "topics",
        name=name,
        component="stream",
        namespace=request.namespace.name,
        # The training image, for its Kafka client.
        image=request.cluster.args.images.train,
        resources=Resources(cpu="10m", memory="64Mi", memory_limit="256Mi"),
        opts=opts,
    )
    code = agent.code_digest
    # A recreated claim is an empty disk, whose broker has no topics. A preview knows no uid of a claim whose namespace
    # does not exist yet: the name that it shows is not the final one.
    own = request.claim.metadata.apply(lambda claim: _job_name(name, topics, code, claim.get("uid") or ""))
    return agent.job(
        agent.pod([address(request.name, request.namespace.plain_name), topics]),
        name=own,
        seconds=_DEADLINE_SECONDS,
        pod_labels=client_label(request.name),
        depends_on=[broker, *request.depends_on],
    )


def _job_name(name: str, *content: str) -> str:
    """A name with a hash of the content."""
    return f"{name}-{digest(chr(0).join(content))}"


def _texts(config: dict[str, object]) -> dict[str, str]:
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in config.items()}
