"""Whether a node group's machines have EFA in a placement group."""

from collections.abc import Mapping

from tensorplane.components.node_groups.shape import Shape

EFA = "vpc.amazonaws.com/efa"
"""The extended resource of EFA interfaces."""
HUGE_PAGES = "hugepages-2Mi"
# Huge pages that the EFA driver reserves, which AWS advises pods with EFA to request (EKS user guide, node-efa).
_HUGE_PAGES_OF_NODE = f"{5128 * 2}Mi"
_HUGE_PAGES_OF_POD = "5120Mi"


def uses_efa(shape: Shape) -> bool:
    """Whether the group's machines get EFA, in one placement group of one zone.

    If the machine has EFA and the group has several nodes with accelerators. Not for spot machines, which rarely fit
    into a placement group.
    """
    machine = shape.machine
    wanted = shape.accelerator is not None and shape.args.max > 1 and not shape.args.spot
    return wanted and shape.args.provisioner == "group" and machine is not None and machine.efa > 0


def efa_of_node(shape: Shape) -> Mapping[str, str]:
    """Extended resources of a node for EFA; empty without EFA."""
    if shape.machine is None or not uses_efa(shape):
        return {}
    return {EFA: str(shape.machine.efa), HUGE_PAGES: _HUGE_PAGES_OF_NODE}


def efa_of_pod(shape: Shape) -> Mapping[str, str]:
    """Extended resources of a pod with all GPUs of a node, to use its EFA."""
    node = efa_of_node(shape)
    return {**node, HUGE_PAGES: _HUGE_PAGES_OF_POD} if node else {}


def is_system(shape: Shape) -> bool:
    """Whether the cluster's own pods, which tolerate no taints, always have nodes in the group."""
    return not shape.taints and shape.args.min > 0 and shape.args.provisioner == "group"
