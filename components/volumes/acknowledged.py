"""Losses of data that a change acknowledges by name; without it, previews and `tensorplane up` refuse them."""

from collections.abc import Iterator, Mapping

from tensorplane.components.base.model import Model, Name
from tensorplane.components.base.problems import Problem, unknown_name
from tensorplane.components.volumes.settings import VolumeArgs


class AcknowledgeArgs(Model):
    """Data that this change may delete, by name. `retain: true` protects a volume or a team all the same."""

    delete_volume: tuple[Name, ...] = ()
    """Volumes without `retain` that are no longer declared. None by default."""
    replace_volume: tuple[Name, ...] = ()
    """Volumes without `retain` whose claim a change replaces by an empty one. None by default."""
    delete_namespace: tuple[Name, ...] = ()
    """Namespaces that are deleted with everything in them, such as that of a removed team. None by default."""


def find_problems(args: AcknowledgeArgs, volumes: Mapping[str, VolumeArgs | None]) -> Iterator[Problem]:
    """Acknowledgements that contradict what is declared. `volumes`: the declared ones; None for invalid ones."""
    for index, name in enumerate(args.delete_volume):
        if name in volumes:
            reason = f"volume {name} is still declared, so nothing deletes it; remove it here or from volumes"
            yield Problem(("acknowledge", "deleteVolume", str(index)), reason)
    for index, name in enumerate(args.replace_volume):
        if name not in volumes:
            yield unknown_name(("acknowledge", "replaceVolume", str(index)), "volume", name, volumes)
        elif (volume := volumes[name]) and volume.retain:
            reason = f"volume {name} has retain: true, which refuses its replacement"
            remedy = "set retain: false there and deploy that first, or remove it here"
            given = (("volumes", name, "retain"),)
            yield Problem(("acknowledge", "replaceVolume", str(index)), f"{reason}; {remedy}", given=given)
