"""The names of a volume and of its copy in another region."""

from collections.abc import Iterator

from tensorplane.components.volumes.base_settings import VolumeSettings


def both(what: str, name: str, args: VolumeSettings) -> Iterator[tuple[str, str]]:
    """Kind and name of a volume's cloud resource and of its copy, if it has one."""
    yield what, name
    if args.mirror and args.mirror.to.region:
        yield what, f"{name}-mirror"
