"""The annotations of a mirrored PersistentVolume. The first one is the prefix of the others."""

from __future__ import annotations

MIRROR = "tensorplane.dev/mirror"
"""Where the copies are; set while the volume is mirrored."""
EVERY = "tensorplane.dev/mirror-every-seconds"
"""The maximum age of the newest copy; set while the volume is mirrored."""
AT = "tensorplane.dev/mirrored-at"
"""The point in time of the newest copy; stays when the mirror is turned off."""
BYTES = "tensorplane.dev/mirrored-bytes"
"""The volume's used bytes at that time, if the filesystem counts them."""
