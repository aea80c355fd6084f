"""Whether a node group's machines are close together, with EFA between them."""

from collections.abc import Mapping

from components.node_groups.shape import Shape

EFA = "vpc.amazonaws.com/efa"
"""The EFA interfaces of a node, as its device plugin hands them to pods."""
HUGE_PAGES = "hugepages-2Mi"
# What the EFA driver sets aside on a machine, and what AWS has a pod that uses EFA ask for (EKS user guide, node-efa).
_HUGE_PAGES_OF_NODE = f"{5128 * 2}Mi"
_HUGE_PAGES_OF_POD = "5120Mi"


def uses_efa(shape: Shape) -> bool:
    """Whether the group's machines get EFA, a network that goes around the kernel, in one placement group of one zone.

    They do where the machine has it and it can be of use: on several nodes with accelerators. Spot machines do not,
    because a placement group of them is rarely had.
    """
    machine = shape.machine
    wanted = shape.accelerator is not None and shape.args.max > 1 and not shape.args.spot
    return wanted and shape.args.provisioner == "group" and machine is not None and machine.efa > 0


def efa_of_node(shape: Shape) -> Mapping[str, str]:
    """What a node of the group has for pods that use EFA; nothing where it has none."""
    if shape.machine is None or not uses_efa(shape):
        return {}
    return {EFA: str(shape.machine.efa), HUGE_PAGES: _HUGE_PAGES_OF_NODE}


def efa_of_pod(shape: Shape) -> Mapping[str, str]:
    """What a pod asks for that has all GPUs of a node, in order to use its EFA."""
    node = efa_of_node(shape)
    return {**node, HUGE_PAGES: _HUGE_PAGES_OF_POD} if node else {}


def is_system(shape: Shape) -> bool:
    """Whether the cluster's own pods, which tolerate nothing, always find nodes in the group."""
    return not shape.taints and shape.args.min > 0 and shape.args.provisioner == "group"
