"""Builders of the resources that the policy tests put into a stack, as the engine would hand them to a pack."""

from __future__ import annotations

from typing import Any

from tests.policies.recordings import Resource as Resource
from tests.policies.recordings import registered

# The engine's marks for values that a preview does not know yet.
UNKNOWN_NUMBER = "3eeb2bf0-c639-47a8-9e75-3b44932eb421"
UNKNOWN_OBJECT = "dd056dcd-154b-4c76-9bd3-c8f88648b5ff"


def workload(kind: str, name: str, /, *, parent: str = "", **outputs: Any) -> Resource:
    """A component of ours that registered these outputs alone: none that the engine never sends of its type."""
    token = f"tensorplane:index:{kind}"
    invented = sorted(outputs.keys() - registered()[token].keys())
    assert not invented, f"{kind} {name} registers no {', '.join(invented)}, so the engine never sends that"
    return {"type": token, "name": name, "parent": parent, "props": outputs}


def raw(token: str, name: str, spec: Any, *, parent: str = "") -> Resource:
    """A Kubernetes object."""
    props = {"metadata": {"name": name}, "spec": spec}
    return {"type": f"kubernetes:{token}", "name": name, "parent": parent, "props": props}


def flat(token: str, name: str, /, **props: Any) -> Resource:
    """A resource of the Kubernetes provider whose inputs are no `spec`: a ConfigMap, a Helm release."""
    return {"type": f"kubernetes:{token}", "name": name, "parent": "", "props": props}


def pod(gpus: Any = None, *, resource: str = "nvidia.com/gpu") -> Resource:
    """A pod spec of one container."""
    resources = {"limits": {"cpu": "1"} if gpus is None else {"cpu": "1", resource: gpus}}
    return {"containers": [{"name": "main", "resources": resources}]}


def template(spec: Resource) -> Resource:
    """A pod template."""
    return {"template": {"spec": spec}}


GPU = template(pod(1))
IDLE = raw("apps/v1:Deployment", "web", {"replicas": 0, **GPU})
DEPLOYMENT = raw("apps/v1:Deployment", "web", GPU)
CONTAINER = pod(1)["containers"][0]


def scaler(kind: str = "Deployment", name: str = "web", **spec: Any) -> Resource:
    return raw("autoscaling/v2:HorizontalPodAutoscaler", "x", {"scaleTargetRef": {"kind": kind, "name": name}, **spec})


def patch(kind: str, **spec: Any) -> Resource:
    return raw(f"apps/v1:{kind}Patch", "web", spec)


def config_map(text: str, field: str = "data") -> Resource:
    return flat("core/v1:ConfigMap", "x", **{field: {"job.yaml": text}})


def chart(**values: Any) -> Resource:
    address = {"chart": "cluster-autoscaler", "repositoryOpts": {"repo": "https://kubernetes.github.io/autoscaler"}}
    return flat("helm.sh/v3:Release", "x", **address, values=values)


def shown(value: str = "all", **spec: Any) -> Resource:
    container = {"name": "main", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]}
    return raw("core/v1:Pod", "x", {"containers": [container], **spec})


def mounted(path: Any, **more: Any) -> Resource:
    """A pod that mounts something at that path of its container."""
    container = {"name": "main", "volumeMounts": [{"name": "d", "mountPath": path, **more}]}
    volume = {"name": "d", "hostPath": {"path": "/dev/null"}}
    return raw("core/v1:Pod", "x", {"containers": [container], "volumes": [volume]})


def annotated(key: str, value: Any = "nvidia.com/gpu=all") -> tuple[Resource, Resource, Resource]:
    """A pod, a Deployment's pods and an operator's pods with an annotation."""
    metadata = {"annotations": {key: value}}
    pods = {"template": {"metadata": metadata, "spec": pod()}}
    alone = flat("core/v1:Pod", "x", metadata={"name": "x", **metadata}, spec=pod())
    return alone, raw("apps/v1:Deployment", "x", pods), raw("ray.io/v1:RayCluster", "x", {"workers": [pods]})


def with_env(**container: Any) -> Resource:
    return raw("core/v1:Pod", "x", {"containers": [{"name": "main", **container}]})


def claim(kind: str, spec: Any) -> Resource:
    return raw(f"resource.k8s.io/v1:{kind}", "claim", spec)
