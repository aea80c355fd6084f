"""Checks of references to streams, groups and producers."""

from collections.abc import Iterator, Mapping

from components.base.faults import Fault, Key, unknown_name
from components.streams.settings import StreamArgs
from workloads.settings.streams import StreamUseArgs


def check(uses: Mapping[str, StreamUseArgs], at: Key, declared: Mapping[str, StreamArgs | None]) -> Iterator[Fault]:
    """Faults of unknown streams, consumer groups and producers."""
    for name, use in uses.items():
        if name not in declared:
            yield unknown_name((*at, name), "stream", name, declared)
        elif stream := declared[name]:
            key, known = ("group", stream.groups) if use.group else ("producer", stream.producers)
            if use.client not in known:
                fault = unknown_name((*at, name, key), key, use.client, known)
                yield Fault(fault.path, fault.reason, given=(("streams", name),))
