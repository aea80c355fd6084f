"""What kops takes as an InstanceGroup, as far as node groups come to it: names and types of fields, nothing else.

The facts are those of kubernetes/kops at commit 268927e26409f861634e18f3632c9dd483c350cf: the fields of
k8s/crds/kops.k8s.io_instancegroups.yaml (v1alpha2), the values that pkg/apis/kops/validation allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.schema import differences

_TEXTS, _TEXT_MAP = [str], {str: str}
_CONTAINERD = {"nvidiaGPU": {"enabled": bool, "package": str, "image": str, "dcgmExporter": {"enabled": bool}}}
_MIXED = {
    "instances": _TEXTS,
    "onDemandAboveBase": int,
    "onDemandAllocationStrategy": str,
    "onDemandBase": int,
    "spotAllocationStrategy": {
        "lowest-price", "diversified", "capacity-optimized", "capacity-optimized-prioritized",
        "price-capacity-optimized",
    },
    "spotInstancePools": int,
}  # fmt: skip
_SPEC = {
    "capacityRebalance": bool,
    "cloudLabels": _TEXT_MAP,
    "containerd": _CONTAINERD,
    "image": str,
    "instanceMetadata": {"httpPutResponseHopLimit": int, "httpTokens": {"optional", "required"}},
    "machineType": str,
    "manager": str,
    "maxPrice": str,
    "maxSize": int,
    "minSize": int,
    "mixedInstancesPolicy": _MIXED,
    "nodeLabels": _TEXT_MAP,
    "role": {"Node"},
    "rootVolumeEncryption": bool,
    "rootVolumeEncryptionKey": str,
    "rootVolumeIops": int,
    "rootVolumeSize": int,
    "rootVolumeThroughput": int,
    "rootVolumeType": {"standard", "gp3", "gp2", "io1", "io2"},
    "subnets": _TEXTS,
    "taints": _TEXTS,
    "zones": _TEXTS,
}
_MANIFEST = {
    "apiVersion": {"kops.k8s.io/v1alpha2"},
    "kind": {"InstanceGroup"},
    "metadata": {"name": str, "labels": _TEXT_MAP},
    "spec": _SPEC,
}
_TAINT = re.compile(r"[^=:]+(=[^=:]*)?:(NoSchedule|NoExecute|PreferNoSchedule)")
_RESERVED_TAGS = ("Name", "KubernetesCluster", "kubernetes.io/cluster/", "k8s.io/role/", "kops.k8s.io/")


def find_problems(manifest: Mapping[str, Any]) -> list[str]:
    """Everything that kops would refuse."""
    return [*differences("", manifest, _MANIFEST), *_invalid(manifest.get("spec", {}))]


def _invalid(spec: Mapping[str, Any]) -> Iterator[str]:
    if not 0 <= spec["minSize"] <= spec["maxSize"]:
        yield "minSize is greater than maxSize"
    for taint in spec["taints"]:
        if not _TAINT.fullmatch(taint) or spec["taints"].count(taint) > 1:
            yield f"taint {taint}"
    for key in spec["nodeLabels"]:
        if key.count("/") > 1:
            yield f"label {key}"
    for key in spec["cloudLabels"]:
        if key.startswith(_RESERVED_TAGS):
            yield f"tag {key}"
