"""What the cluster's objects call the driver and its parameters."""

from __future__ import annotations

DRIVER = "btrfs.csi.tensorplane.dev"
MIRROR = "mirrorSeconds"
"""The one parameter of a VolumeAttributesClass: how old a volume's copy in the second pool may be; 0 for none."""
MIRROR_OF = "mirrorOf"
"""The one parameter of a StorageClass: the claim, of the new one's namespace, whose copy a volume begins as."""
