"""Whether the cluster's version has what its node groups ask GKE for: an older one drops such fields silently."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.base.faults import Fault
from components.clusters.gke.check_cluster import OLDEST_MINOR, VERSION
from components.clusters.gke.settings import GkeSettings
from components.node_groups.shape import Shape


@dataclass(frozen=True)
class _Need:
    """The least version that has something."""

    least: str
    what: str
    named: bool = False
    """Whether the settings have to name such a version, because no channel begins with one."""


# docs.cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass: nodePoolConfig.taints. Labels, image type
# and zones of nodes came earlier.
_CLASS = _Need("1.33.4-gke.1350000", "does not support taints in a ComputeClass")
# docs.cloud.google.com/kubernetes-engine/docs/how-to/prepare-arm-workloads-for-deployment#configure-default-taint, and
# nodePoolConfig.taintConfig of the same reference.
_ARM_POOL = _Need("1.35.0-gke.2141000", "adds a taint to all Arm nodes")
_ARM_CLASS = _Need("1.36.2-gke.1498000", "adds a taint to all Arm nodes that it provisions automatically", named=True)


def faults(args: GkeSettings, groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """One line, about the group that needs the newest version."""
    found = _parts(args.version) if args.version and VERSION.fullmatch(args.version) else None
    if args.version and (found is None or found[0] < OLDEST_MINOR):
        return
    lacking = [
        (need, name)
        for name, shape in groups.items()
        if (need := _need(shape)) and (need.named if found is None else found < _parts(need.least))
    ]
    if lacking:
        need, name = max(lacking, key=lambda each: _parts(each[0].least))
        said = args.version or "missing, and the default version"
        reason = f"{said} {need.what}; set {need.least} or newer for node group {name}"
        yield Fault(("cluster", "version"), reason, given=(("nodeGroups", name),))


def _need(shape: Shape) -> _Need | None:
    arm = shape.machine is not None and shape.machine.arch == "arm64"
    if shape.args.provisioner == "automatic":
        return _ARM_CLASS if arm else _CLASS
    return _ARM_POOL if arm else None


def _parts(version: str) -> tuple[float, ...]:
    """Minor version, patch and build. What a version leaves open is the newest that there is."""
    _, *parts = (float(part) for part in re.findall(r"\d+", version))
    return (*parts, math.inf, math.inf)[:3]
