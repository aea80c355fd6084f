"""The names of the driver, its parameters and its annotations in the cluster's objects."""

from __future__ import annotations

DRIVER = "btrfs.csi.tensorplane.dev"
MIRROR = "mirrorSeconds"
"""The only parameter of a VolumeAttributesClass: the maximum age of a volume's mirror in seconds; 0: no mirror."""
MIRROR_OF = "mirrorOf"
"""The only parameter of a StorageClass: the claim, in the same namespace, whose mirror a new volume restores."""

MIRROR_ANNOTATION = "tensorplane.dev/mirror"
"""Where the copies are; set while the volume is mirrored. The annotations below begin with it."""
EVERY_ANNOTATION = "tensorplane.dev/mirror-every-seconds"
"""The maximum age of the newest copy; set while the volume is mirrored."""
AT_ANNOTATION = "tensorplane.dev/mirrored-at"
"""The point in time of the newest copy; stays when the mirror is turned off."""
BYTES_ANNOTATION = "tensorplane.dev/mirrored-bytes"
"""The volume's used bytes at that time, if the filesystem counts them."""
