"""What jobs cost per hour, at the prices that a stack has noted at its ResourceFlavors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.workloads import Work
from tensorplane.components.base import price
from tensorplane.components.base.labels import NODE_PRICES
from tensorplane.components.base.price import NodePrice, Usd
from tensorplane.components.catalog import GPU_RESOURCE

Prices = Mapping[str, Sequence[NodePrice]]
"""By ResourceFlavor: its different nodes. A flavor without prices is missing."""
_GIB = 2**30


def of(flavors: Sequence[Object]) -> Prices:
    """The prices of these ResourceFlavors."""
    noted = {one["metadata"]["name"]: (one["metadata"].get("annotations") or {}).get(NODE_PRICES) for one in flavors}
    return {name: [NodePrice(**each) for each in json.loads(text)] for name, text in noted.items() if text}


def hourly(work: Work, prices: Prices) -> Usd | None:
    """The price per hour of a job with the flavors that it was admitted to; None if it is unknown."""
    total = Usd(0, 0)
    for pods in work.pods:
        nodes = [prices.get(flavor, ()) for flavor in sorted(work.flavors.get(pods.role, ()))]
        if not nodes or not all(nodes):
            return None
        total += price.of_pods(
            pods.count,
            [node for each in nodes for node in each],
            cpus=pods.each.get("cpu", 0),
            memory_gib=pods.each.get("memory", 0) / _GIB,
            accelerators=pods.each.get(GPU_RESOURCE, 0),
        )
    return total if work.pods else None
