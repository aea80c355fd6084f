"""The kernel's table of mounts, read."""

from __future__ import annotations

from pathlib import Path

from tensorplane.embedded.csi import mounts

TABLE = r"""22 27 0:21 / /proc rw,nosuid shared:12 - proc proc rw
41 27 0:39 /volumes/a /pods/with\040space ro,relatime shared:1 master:2 - btrfs /dev/loop0 rw,space_cache=v2
"""


def test_a_line_is_read_with_and_without_optional_fields() -> None:
    proc, volume = mounts.parse(TABLE)
    assert (proc.folder, proc.kind, proc.read_only) == (Path("/proc"), "proc", False)
    assert (volume.folder, volume.root, volume.source) == (Path("/pods/with space"), "/volumes/a", "/dev/loop0")
    assert volume.read_only, "the mount is, though its filesystem is not"
    assert volume.device == "0:39"
