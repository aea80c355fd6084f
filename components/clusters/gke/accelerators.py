"""GPUs of a GKE node pool: type, count, driver, sharing."""

from pulumi_gcp import container

from components.node_groups.settings import Mig, Mps, TimeSlicing
from components.node_groups.shape import Shape


def guest_accelerators(shape: Shape, driver: str) -> list[container.NodePoolNodeConfigGuestAcceleratorArgsDict]:
    """The GPUs of each node; empty without GPUs, and for TPUs, which are part of the machine type.

    Machine types with GPUs (a2, a3, g2 …) declare them, too, to select the driver: without it, GKE installs none.
    """
    machine = shape.machine
    if not (machine and machine.cloud_accelerator and shape.accelerator and shape.accelerator.kind == "gpu"):
        return []
    declared: container.NodePoolNodeConfigGuestAcceleratorArgsDict = {
        "type": machine.cloud_accelerator,
        "count": shape.per_node,
        "gpu_driver_installation_config": {"gpu_driver_version": driver.upper()},
    }
    match shape.args.sharing:
        case TimeSlicing(replicas=replicas):
            declared["gpu_sharing_config"] = _between("TIME_SHARING", replicas)
        case Mps(replicas=replicas):
            declared["gpu_sharing_config"] = _between("MPS", replicas)
        case Mig(profile=profile):
            declared["gpu_partition_size"] = profile
    return [declared]


def _between(strategy: str, replicas: int) -> container.NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgsDict:
    return {"gpu_sharing_strategy": strategy, "max_shared_clients_per_gpu": replicas}
