"""What VolSync allows and names: schedules of mirrors, the volumes that take part, and its objects' names."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from tensorplane.components.base import value_types
from tensorplane.components.volumes.settings import VolumeArgs

_SECONDS_OF_AN_HOUR = 3600
_HOURS_OF_A_DAY = 24
_RECEIVER = "volsync-rsync-tls-dst-"
_NAME_LIMIT = 63


def schedule(every: str) -> str | None:
    """The cron schedule of an interval; None if it does not divide an hour or a day."""
    seconds = value_types.seconds(every)
    minutes, hours = seconds // 60, seconds // _SECONDS_OF_AN_HOUR
    if seconds < _SECONDS_OF_AN_HOUR:
        return f"*/{minutes} * * * *" if not 60 % minutes else None
    if seconds % _SECONDS_OF_AN_HOUR or _HOURS_OF_A_DAY % hours:
        return None
    return f"0 */{hours} * * *" if hours < _HOURS_OF_A_DAY else "0 0 * * *"


def takes_part(name: str, volumes: Mapping[str, VolumeArgs]) -> bool:
    """Whether a mover mounts this volume, or a copy of it."""
    args = volumes[name]
    sends = args.mirror is not None and args.mirror.to.by_volsync
    return sends or (args.source is not None and args.source.mirror is not None) or sender_to(name, volumes) is not None


def sender_to(name: str, volumes: Mapping[str, VolumeArgs | None]) -> str | None:
    """The volume that is mirrored to this one."""
    return next((one for one, args in volumes.items() if args and args.mirror and args.mirror.to.volume == name), None)


def receiver_name(volume: str) -> str:
    """Name that VolSync gives the Service of a destination; with a checksum if the volume's name is too long."""
    name = f"{_RECEIVER}{volume}"
    return name if len(name) <= _NAME_LIMIT else f"{_RECEIVER}{zlib.crc32(volume.encode()):08x}"


def claim_of_copy(volume: str) -> str:
    """Name of the claim of the temporary copy that VolSync sends."""
    return f"volsync-{volume}-src"
