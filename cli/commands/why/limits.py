"""The LimitRanges of a namespace that a job's pods cross: neither Kueue nor the API server names them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from tensorplane.cli.api_values import Object
from tensorplane.components.base.quantities import amount, size

_MEMORY = ("memory", "ephemeral-storage")


@dataclass(frozen=True)
class _Requested:
    """What a container or a pod asks for, as quantities, by resource."""

    requests: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)


def crossed(pod_sets: Sequence[Object], ranges: Sequence[Object]) -> tuple[str, ...]:
    """A sentence for each limit that pods of these pod sets of a Workload cross, with the numbers."""
    return tuple(dict.fromkeys(_crossed(pod_sets, ranges)))


def _crossed(pod_sets: Sequence[Object], ranges: Sequence[Object]) -> Iterator[str]:
    limits = ((one["metadata"]["name"], limit) for one in ranges for limit in one["spec"]["limits"])
    for (name, limit), pod_set in product(limits, pod_sets):
        for requested in _requests(limit, pod_set["template"]["spec"]):
            for what in _problems(limit, requested):
                about = f"LimitRange {name} allows a {limit['type'].lower()}"
                yield f"{about} {what.format(pods=pod_set['name'] + ' pods')}."


def _requests(limit: Object, spec: Object) -> Iterator[_Requested]:
    """What each container asks for, or the pod, by the type of the limit."""
    containers = [_container(each, limit) for each in spec["containers"]]
    first = [_container(each, limit) for each in spec.get("initContainers") or ()]
    if limit["type"] == "Container":
        yield from (*containers, *first)
    elif limit["type"] == "Pod":
        yield _Requested(
            _of_pod([each.requests for each in containers], [each.requests for each in first]),
            _of_pod([each.limits for each in containers], [each.limits for each in first]),
        )


def _container(container: Object, limit: Object) -> _Requested:
    resources = container.get("resources") or {}
    limits = {**(limit.get("default") or {}), **(resources.get("limits") or {})}
    requests = {**limits, **(limit.get("defaultRequest") or {}), **(resources.get("limits") or {})}
    return _Requested(_numbers({**requests, **(resources.get("requests") or {})}), _numbers(limits))


def _numbers(quantities: Mapping[str, str]) -> dict[str, float]:
    return {name: amount(str(text)) for name, text in quantities.items()}


def _of_pod(together: Sequence[Mapping[str, float]], one_by_one: Sequence[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for each in together:
        for name, count in each.items():
            found[name] += count
    for each in one_by_one:
        for name, count in each.items():
            found[name] = max(found[name], count)
    return found


def _problems(limit: Object, observed: _Requested) -> Iterator[str]:
    for name, text in (limit.get("max") or {}).items():
        most = max(observed.limits.get(name, 0), observed.requests.get(name, 0))
        if most > amount(text):
            yield f"at most {text} of {name}, but one of the {{pods}} has {_spelled(name, most)}"
    for name, text in (limit.get("min") or {}).items():
        least = observed.requests.get(name, 0)
        if least < amount(text):
            yield f"at least {text} of {name}, but one of the {{pods}} requests {_spelled(name, least)}"
    for name, text in (limit.get("maxLimitRequestRatio") or {}).items():
        request, most = observed.requests.get(name, 0), observed.limits.get(name, 0)
        if request and most / request > amount(text):
            ratio = f"{most / request:.3g} times"
            yield f"limits of {name} up to {text} times its requests, but in one of the {{pods}} they are {ratio}"


def _spelled(name: str, number: float) -> str:
    return size(int(number)) if name in _MEMORY else f"{number:g}"
