"""Teams: namespaces that have queues, and the limit on GPUs that stands behind the queues'."""

from collections import Counter
from collections.abc import Iterable, Mapping

import pulumi
import pulumi_kubernetes as k8s

from components.catalog import GPU_RESOURCE
from components.labels import TENSORPLANE, labels
from components.namespace import POD_SECURITY
from components.queue.quota import Quota
from components.queue.settings import QueueArgs, TeamArgs


def declare(teams: Mapping[str, TeamArgs], opts: pulumi.ResourceOptions) -> dict[str, pulumi.Input[str]]:
    """The teams' namespaces, by the teams' names. One that is retained outlives the stack, with all that is in it."""
    found: dict[str, pulumi.Input[str]] = {}
    for name, args in teams.items():
        namespace = args.namespace or name
        found[name] = _namespace(namespace, args.retain, opts) if args.create else namespace
    return found


def _namespace(name: str, retain: bool, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    kept = pulumi.ResourceOptions(protect=retain, retain_on_delete=retain)
    made = k8s.core.v1.Namespace(
        name,
        metadata={"name": name, "labels": {**TENSORPLANE, **POD_SECURITY}},
        opts=pulumi.ResourceOptions.merge(opts, kept),
    )
    name_of: pulumi.Output[str] = made.metadata["name"]
    return name_of


def gpus_at_most(queues: Mapping[str, QueueArgs], quotas: Mapping[str, Iterable[Quota]], team: str | None) -> int:
    """GPUs that the pods of a namespace may hold by their queues: the team's, or those of the stack's own.

    What one queue borrows is another's: of no kind there is more than all queues are sure of together.
    """
    allowed: Counter[str] = Counter()
    sure: Counter[str] = Counter()
    for name, args in queues.items():
        for quota in quotas[name]:
            sure[quota.flavor.name] += quota.guaranteed.gpus
            if team is None or team in args.teams:
                allowed[quota.flavor.name] += quota.guaranteed.gpus + quota.borrowable.gpus
    return (allowed & sure).total()


def limit(owner: str, namespace: pulumi.Input[str], gpus: int, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """The limit of a namespace: pods that no queue knows of cannot hold more than its queues allow.

    Kubernetes knows one name for all cards here: which cards is the queues' to say.
    """
    return k8s.core.v1.ResourceQuota(
        f"{owner}-gpus",
        metadata={"name": "gpus", "namespace": namespace, "labels": labels(owner, "queue")},
        spec={"hard": {f"requests.{GPU_RESOURCE}": str(gpus)}},
        opts=opts,
    )
