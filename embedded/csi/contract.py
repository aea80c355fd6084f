"""The names of the driver and its parameters in the cluster's objects."""

from __future__ import annotations

DRIVER = "btrfs.csi.tensorplane.dev"
MIRROR = "mirrorSeconds"
"""The only parameter of a VolumeAttributesClass: the maximum age of a volume's mirror in seconds; 0: no mirror."""
MIRROR_OF = "mirrorOf"
"""The only parameter of a StorageClass: the claim, in the same namespace, whose mirror a new volume restores."""
