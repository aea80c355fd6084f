"""The device plugin's configurations: one for each `sharing` of the node groups."""

import json
from typing import Any

from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.labels import plugin_config
from tensorplane.components.node_groups.settings import Mig, Mps, NodeGroupArgs, TimeSlicing
from tensorplane.components.node_groups.shape import Shape

WHOLE = "whole"
"""Name of the default configuration, for nodes without the label: one pod per GPU."""


def configs(fleet: Fleet) -> dict[str, str]:
    """The configurations by the value of the nodes' label; empty if no group shares its GPUs."""
    sharing = (shape.args for shape in fleet.groups.values() if shape.args.sharing)
    found = {plugin_config(args): _text(_shared(args)) for args in sharing}
    return {WHOLE: _text({}), **dict(sorted(found.items()))} if found else {}


def has_mig(fleet: Fleet) -> bool:
    """Whether a group's GPUs use MIG."""
    return any(is_divided(shape) for shape in fleet.groups.values())


def is_divided(shape: Shape) -> bool:
    """Whether a group's GPUs use MIG and support it; otherwise another check reports it."""
    return isinstance(shape.args.sharing, Mig) and bool(shape.accelerator and shape.accelerator.mig)


def _text(config: dict[str, Any]) -> str:
    # JSON is YAML: the plugin parses it.
    return json.dumps({"version": "v1", **config}, sort_keys=True)


def _shared(args: NodeGroupArgs) -> dict[str, Any]:
    match args.sharing:
        case TimeSlicing(replicas=replicas):
            # Two shares of a GPU are not faster than one, so the plugin refuses a request for two.
            shares = {"failRequestsGreaterThanOne": True, "resources": [{"name": GPU_RESOURCE, "replicas": replicas}]}
            return {"sharing": {"timeSlicing": shares}}
        case Mps(replicas=replicas):
            return {"sharing": {"mps": {"resources": [{"name": GPU_RESOURCE, "replicas": replicas}]}}}
    # All instances of a group have one size, so they are advertised under the usual resource name.
    return {"flags": {"migStrategy": "single"}}
