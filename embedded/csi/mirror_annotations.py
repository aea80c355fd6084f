"""What is written on a PersistentVolume about its copies. The first one's name is how each of them begins."""

from __future__ import annotations

MIRROR = "tensorplane.dev/mirror"
"""Where the copies are; there while the volume is mirrored."""
EVERY = "tensorplane.dev/mirror-every-seconds"
"""How old the newest one may get; there while the volume is mirrored."""
AT = "tensorplane.dev/mirrored-at"
"""When the volume was as the newest copy is, which stays when the mirror is turned off."""
BYTES = "tensorplane.dev/mirrored-bytes"
"""How much the volume took then, where somebody counts it."""
