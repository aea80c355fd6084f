"""The device plugin's configurations: one for each way in which the fleet's groups share their GPUs."""

import json
from typing import Any

from components.catalog import GPU_RESOURCE
from components.node_groups.fleet import Fleet
from components.node_groups.labels import plugin_config
from components.node_groups.settings import Mig, Mps, NodeGroupArgs, TimeSlicing
from components.node_groups.shape import Shape

WHOLE = "whole"
"""Name of the configuration of nodes without the label: a GPU is one pod's."""


def configs(fleet: Fleet) -> dict[str, str]:
    """The configurations by the name that nodes carry as a label; none where no group shares its GPUs."""
    sharing = (shape.args for shape in fleet.groups.values() if shape.args.sharing)
    found = {plugin_config(args): _text(_shared(args)) for args in sharing}
    return {WHOLE: _text({}), **dict(sorted(found.items()))} if found else {}


def has_mig(fleet: Fleet) -> bool:
    """Whether a group's GPUs are divided in hardware."""
    return any(is_divided(shape) for shape in fleet.groups.values())


def is_divided(shape: Shape) -> bool:
    """Whether a group's GPUs are divided by MIG; False where they do not support it, which is a fault of its own."""
    return isinstance(shape.args.sharing, Mig) and bool(shape.accelerator and shape.accelerator.mig)


def _text(config: dict[str, Any]) -> str:
    # JSON is YAML: the plugin parses it.
    return json.dumps({"version": "v1", **config}, sort_keys=True)


def _shared(args: NodeGroupArgs) -> dict[str, Any]:
    match args.sharing:
        case TimeSlicing(replicas=replicas):
            # Two shares of one GPU compute no more than one does: to ask for two is a mistake, said to the pod.
            shares = {"failRequestsGreaterThanOne": True, "resources": [{"name": GPU_RESOURCE, "replicas": replicas}]}
            return {"sharing": {"timeSlicing": shares}}
        case Mps(replicas=replicas):
            return {"sharing": {"mps": {"resources": [{"name": GPU_RESOURCE, "replicas": replicas}]}}}
    # All instances of a group have one size, so that each is a GPU of its own under the name that pods ask for.
    return {"flags": {"migStrategy": "single"}}
