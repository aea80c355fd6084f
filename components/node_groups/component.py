"""The component of a node group: its outputs, and the parent of its cloud resources."""

import pulumi

from tensorplane.components.base import encrypted, outputs
from tensorplane.components.base.labels import NO_ACCELERATOR
from tensorplane.components.cost import estimate
from tensorplane.components.node_groups.shape import Shape


class NodeGroup(pulumi.ComponentResource):
    """One node group of a cluster. The kind of cluster creates its children."""

    def __init__(self, shape: Shape, opts: pulumi.ResourceOptions) -> None:
        self.shape = shape
        super().__init__(outputs.NODE_GROUP, shape.name, dict(_outputs(shape)), opts)

    def done(self, native: pulumi.Resource | None = None) -> None:
        """Marks the component as complete."""
        self.native = native
        self.register_outputs(encrypted.concealed(dict(_outputs(self.shape))))


def _outputs(shape: Shape) -> outputs.NodeGroup:
    """Outputs for policies: plain values, known before any resource exists."""
    accelerator, args = shape.accelerator, shape.args
    return outputs.NodeGroup(
        accelerator=accelerator.name if accelerator else NO_ACCELERATOR,
        machine=shape.machine.name if shape.machine else None,
        minNodes=args.min,
        maxNodes=args.max,
        expectedNodes=args.expected,
        spot=args.spot,
        gpusMax=shape.accelerators_max if accelerator and accelerator.kind == "gpu" else 0,
        tpusMax=shape.accelerators_max if accelerator and accelerator.kind == "tpu" else 0,
        hourlyUsdMax=shape.hourly_usd_max,
        labels=dict(shape.labels),
        taints=[str(taint) for taint in shape.taints],
        cost=estimate.of_group(shape).plain(),
    )
