"""The name of a volume's copy in another region, beside its own."""

from collections.abc import Iterator

from components.volumes.base_settings import VolumeSettings


def both(what: str, name: str, args: VolumeSettings) -> Iterator[tuple[str, str]]:
    """Kind and name of what a volume is in the cloud, and of its copy where it has one."""
    yield what, name
    if args.mirror and args.mirror.to.region:
        yield what, f"{name}-mirror"
