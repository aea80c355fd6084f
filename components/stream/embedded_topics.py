"""The Job that makes a broker's topics as the settings declare them: a new one for each change, and for a new disk."""

import hashlib
import json
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s

from components import restricted, versions
from components.labels import labels
from components.stream.access import client_label
from components.stream.broker import Request
from components.stream.embedded_broker import address

_PROGRAM = Path(__file__).resolve().parents[2] / "runtime" / "topics.py"
_CODE = "/opt/tensorplane/lib"
_DEADLINE_SECONDS = 300


def declare(request: Request, broker: pulumi.Resource, opts: pulumi.ResourceOptions) -> "k8s.batch.v1.Job":
    """Create the Job; `pulumi up` waits for its end, so that whoever reads finds its topics."""
    wanted = {name: args.spec(1) for name, args in sorted(request.args.topics.items())}
    topics = json.dumps({name: {**spec, "config": _texts(spec["config"])} for name, spec in wanted.items()})
    program = _PROGRAM.read_text()
    name = f"{request.name}-topics"
    about: k8s.meta.v1.ObjectMetaArgsDict = {"namespace": request.namespace.name, "labels": labels(name, "stream")}
    code = k8s.core.v1.ConfigMap(
        name,
        metadata={**about, "name": _named(name, program)},
        immutable=True,
        data={"topics.py": program},
        opts=opts,
    )
    # A claim that was made anew is an empty disk, whose broker has no topics. A preview of a claim in a namespace that
    # is not there yet knows no uid: the name that it shows is not the final one.
    own = request.claim.metadata.apply(lambda claim: _named(name, topics, program, claim.get("uid") or ""))
    pod: k8s.core.v1.PodSpecArgsDict = {
        "automount_service_account_token": False,
        "enable_service_links": False,
        "restart_policy": "Never",
        "security_context": restricted.pod(),
        "containers": [
            {
                "name": "main",
                # The training image, for its Kafka client.
                "image": versions.images(request.cluster.args.kind).train,
                "image_pull_policy": "IfNotPresent",
                "command": ["python3", f"{_CODE}/topics.py", address(request), topics],
                "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                "security_context": restricted.CONTAINER,
                "volume_mounts": [{"name": "code", "mount_path": _CODE, "read_only": True}],
            }
        ],
        "volumes": [{"name": "code", "config_map": {"name": code.metadata["name"]}}],
    }
    return k8s.batch.v1.Job(
        name,
        metadata={**about, "name": own},
        spec={
            "backoff_limit": 3,
            "active_deadline_seconds": _DEADLINE_SECONDS,
            "template": {"metadata": {"labels": {**labels(name, "stream"), **client_label(request.name)}}, "spec": pod},
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[broker, *request.needed])),
    )


def _named(name: str, *content: str) -> str:
    """The name of what has this content, and no other."""
    return f"{name}-{hashlib.sha256(chr(0).join(content).encode()).hexdigest()[:8]}"


def _texts(config: dict[str, object]) -> dict[str, str]:
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in config.items()}
