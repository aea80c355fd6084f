"""Tags that describe the nodes of an empty group to the cluster autoscaler."""

from tensorplane.components.base.labels import AUTOSCALER_TEMPLATE
from tensorplane.components.clusters.eks.placement import efa_of_node
from tensorplane.components.node_groups.shape import Shape

LABEL, TAINT, RESOURCE = (f"{AUTOSCALER_TEMPLATE}/{kind}/" for kind in ("label", "taint", "resources"))
TAG_KEY_LIMIT = 128


def tags(shape: Shape, labels: dict[str, str]) -> dict[str, str]:
    """The tags. A group that always has nodes has none, because the autoscaler reads its nodes."""
    if shape.args.min > 0:
        return {}
    return {
        **{f"{LABEL}{key}": value for key, value in labels.items()},
        **{f"{TAINT}{taint.key}": f"{taint.value}:{taint.effect}" for taint in shape.taints},
        **{f"{RESOURCE}{name}": str(count) for name, count in shape.resources.items()},
        **{f"{RESOURCE}{name}": count for name, count in efa_of_node(shape).items()},
        f"{RESOURCE}ephemeral-storage": f"{shape.args.disk_gib}Gi",
    }
