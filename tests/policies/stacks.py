"""Builders of the resources that the policy tests put into a stack, as the engine would hand them to a pack."""

from __future__ import annotations

from typing import Any

Resource = dict[str, Any]

# pulumi-policy's marks for values that a preview does not know yet.
UNKNOWN_NUMBER = "3eeb2bf0-c639-47a8-9e75-3b44932eb421"
UNKNOWN_OBJECT = "dd056dcd-154b-4c76-9bd3-c8f88648b5ff"


def workload(kind: str, name: str, *, parent: str = "", **outputs: Any) -> Resource:
    """A component of ours and what it registered."""
    return {"type": f"tensorplane:index:{kind}", "name": name, "parent": parent, "props": outputs}


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
