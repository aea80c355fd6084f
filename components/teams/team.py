"""Teams: namespaces with queues, and the GPUs that these can give there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tensorplane.components.base.labels import TENSORPLANE
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.namespace.rules import POD_SECURITY
from tensorplane.components.queues.quota import Quota
from tensorplane.components.queues.settings import QueueArgs, TeamArgs


def declare(teams: Mapping[str, TeamArgs], opts: pulumi.ResourceOptions) -> dict[str, pulumi.Input[str]]:
    """The teams' namespaces, by team. A retained one outlives the stack, with everything in it."""
    found: dict[str, pulumi.Input[str]] = {}
    for name, args in teams.items():
        namespace = args.namespace or name
        found[name] = _namespace(namespace, args.retain, opts) if args.create else namespace
    return found


def _namespace(name: str, retain: bool, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    retained = pulumi.ResourceOptions(protect=retain, retain_on_delete=retain)
    made = k8s.core.v1.Namespace(
        name,
        metadata={"name": name, "labels": {**TENSORPLANE, **POD_SECURITY}},
        opts=pulumi.ResourceOptions.merge(opts, retained),
    )
    name_of: pulumi.Output[str] = made.metadata["name"]
    return name_of


def gpus_at_most(queues: Mapping[str, QueueArgs], quotas: Mapping[str, Iterable[Quota]], team: str | None) -> int:
    """Maximum number of GPUs that the pods of a namespace can hold through their queues.

    Borrowed quota belongs to another queue, so the total per flavor is at most the sum of all nominal quotas.
    """
    allowed: Counter[str] = Counter()
    guaranteed: Counter[str] = Counter()
    for name, args in queues.items():
        for quota in quotas[name]:
            guaranteed[quota.flavor.name] += quota.guaranteed.gpus
            if team is None or team in args.teams:
                allowed[quota.flavor.name] += quota.guaranteed.gpus + quota.borrowable.gpus
    return (allowed & guaranteed).total()
