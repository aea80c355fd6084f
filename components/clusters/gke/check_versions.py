"""Check that the cluster's version supports the fields of its node groups, which older versions silently drop."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tensorplane.components.base.problems import Problem
from tensorplane.components.clusters.gke.check_cluster import OLDEST_MINOR, VERSION
from tensorplane.components.clusters.gke.settings import GkeSettings
from tensorplane.components.node_groups.shape import Shape


@dataclass(frozen=True)
class _Least:
    """Minimum version of a feature."""

    least: str
    what: str
    explicit: bool = False
    """Whether the settings must name a version, because no channel's default is new enough."""


# docs.cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass: nodePoolConfig.taints. Labels, image type
# and zones of nodes came earlier.
_CLASS = _Least("1.33.4-gke.1350000", "does not support taints in a ComputeClass")
# docs.cloud.google.com/kubernetes-engine/docs/how-to/prepare-arm-workloads-for-deployment#configure-default-taint, and
# nodePoolConfig.taintConfig of the same reference.
_ARM_POOL = _Least("1.35.0-gke.2141000", "adds a taint to all Arm nodes")
_ARM_CLASS = _Least(
    "1.36.2-gke.1498000", "adds a taint to all Arm nodes that it provisions automatically", explicit=True
)


def find_problems(args: GkeSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """One problem, for the group that requires the newest version."""
    found = _parts(args.version) if args.version and VERSION.fullmatch(args.version) else None
    if args.version and (found is None or found[0] < OLDEST_MINOR):
        return
    lacking = [
        (minimum, name)
        for name, shape in groups.items()
        if (minimum := _minimum(shape)) and (minimum.explicit if found is None else found < _parts(minimum.least))
    ]
    if lacking:
        minimum, name = max(lacking, key=lambda each: _parts(each[0].least))
        found_version = args.version or "missing, and the default version"
        reason = f"{found_version} {minimum.what}; set {minimum.least} or newer for node group {name}"
        yield Problem(("cluster", "version"), reason, given=(("nodeGroups", name),))


def _minimum(shape: Shape) -> _Least | None:
    arm = shape.machine is not None and shape.machine.arch == "arm64"
    if shape.args.provisioner == "automatic":
        return _ARM_CLASS if arm else _CLASS
    return _ARM_POOL if arm else None


def _parts(version: str) -> tuple[float, ...]:
    """Minor version, patch and build; omitted parts count as the newest."""
    _, *parts = (float(part) for part in re.findall(r"\d+", version))
    return (*parts, math.inf, math.inf)[:3]
