"""Checks of the model servers that other workloads name."""

from collections.abc import Iterator

from components.base.problems import Key, Problem, did_you_mean
from workloads.family import Declared


def unknown(server: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """A problem if no model server has this name, as `SERVER` or `SERVER/MODEL`."""
    if server not in declared.models:
        known = sorted(declared.models)
        remedy = f"choose one of {', '.join(known)}{did_you_mean(server, known)}" if known else "declare one"
        reason = f"no model server is named {server!r}; {remedy}"
        yield Problem(at, reason, given=(("workloads",),), lacks=("workloads", server), by_names=True)
