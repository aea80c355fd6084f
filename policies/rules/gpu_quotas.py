"""GPU quotas of namespaces, teams, priorities and accelerators. As gpu-quota, they refuse what they cannot count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from gpu_usage.manifest import UncountableError
from gpu_usage.usage import Usage
from stack_view import amounts, attribution
from stack_view.attribution import Owners
from stack_view.rule import Config, Finding, Rule, Severity
from stack_view.schemas import Schema, counts
from stack_view.view import Resource, View

Groups = Callable[[Owners, Resource, int, Config], Mapping[str, int]]
"""GPUs of a resource by group."""


def _per(word: str, groups: Groups, view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    limits = config["maxGpus"]
    if not limits:
        return
    usage = Usage(view, config["charts"])
    for resource, error in usage.uncountable:
        yield resource, Finding(error.problem, error.remedy)
    owners = Owners.of(view)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for resource in view.all:
        if gpus := usage.requests[resource.urn]:
            try:
                parts = groups(owners, resource, gpus, config)
            except UncountableError as error:
                yield resource, Finding(error.problem, error.remedy)
                continue
            for group, part in parts.items():
                found[group][resource.who] += part
    for group, requests in sorted(found.items()):
        limit = limits.get(group, limits.get("*", 0))
        if requests.total() > limit:
            problem = f"{word} {group} requests {requests.total()} GPUs"
            remedy = f"request fewer, or raise maxGpus.{group} in {view.config}"
            yield (
                None,
                Finding(
                    problem,
                    f"its quota is {limit:.12g} ({amounts.largest_first(requests)}): {remedy}",
                    requests.total(),
                ),
            )


def _quota(word: str, groups: Groups, description: str, **more: Schema) -> Rule:
    return Rule(
        partial(_per, word, groups),
        name=f"gpu-quota-per-{word}",
        description=description,
        remedy=f"Request fewer GPUs, or raise the quota of the {word}.",
        severity=Severity.HIGH,
        tags=["gpu", "cost"],
        config={"maxGpus": counts(), "charts": counts(), **more},
    )


POLICIES = [
    _quota("namespace", attribution.namespaces, "Each namespace requests at most its GPUs of `maxGpus`."),
    _quota(
        "team",
        attribution.teams,
        "Each team requests at most its GPUs: of the label `label` on an object or its namespace, else the team whose "
        "namespace it is, else `none`.",
        label={"type": "string", "default": "team"},
    ),
    _quota(
        "priority",
        attribution.priorities,
        "Jobs of each queue priority (low, normal, high) request at most its GPUs; what has no queue is `none`.",
    ),
    _quota(
        "accelerator",
        attribution.accelerators,
        "Pods request at most this many of each accelerator. They count for every one that they may get.",
    ),
]
