"""Checks of references to streams, groups and producers."""

from collections.abc import Iterator, Mapping

from components.base.problems import Key, Problem, unknown_name
from components.streams.settings import StreamArgs
from workloads.pods.stream_settings import StreamUseArgs


def check(uses: Mapping[str, StreamUseArgs], at: Key, declared: Mapping[str, StreamArgs | None]) -> Iterator[Problem]:
    """Problems of unknown streams, consumer groups and producers."""
    for name, use in uses.items():
        if name not in declared:
            yield unknown_name((*at, name), "stream", name, declared)
        elif stream := declared[name]:
            key, known = ("group", stream.groups) if use.group else ("producer", stream.producers)
            if use.client not in known:
                problem = unknown_name((*at, name, key), key, use.client, known)
                yield Problem(problem.path, problem.reason, given=(("streams", name),))
