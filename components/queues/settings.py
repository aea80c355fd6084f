"""Settings of queues, of the cohorts in which they lend to each other, and of the teams that use them."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tensorplane.components.base.model import Line, Model, Name, NonEmptyStr, refuse_all_but
from tensorplane.components.queues.flavors import ANY

Priority = Literal["low", "normal", "high"]
PRIORITIES: dict[Priority, int] = {"low": 100, "normal": 1000, "high": 10000}
"""Values of Kueue's WorkloadPriorityClasses. Kueue preempts the job with the lower value first."""
ALONE = "none"
"""Cohort of a queue that neither lends nor borrows."""
MOST_GRACE = 3600
"""Seconds that the pods of a team's job may take to end: they hold their GPUs, while Kueue admits the next job."""


def _counts(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        refuse_all_but(
            f"a number for each accelerator, such as {{t4: {max(value, 1)}}}, or {{{ANY}: …}} without nodeGroups"
        )
    return value


# More than any cluster has, and less than Kubernetes and Kueue count in thousandths of cores, in bytes and in sums.
_MOST_GPUS, _MOST_CPUS, _MOST_GIB = 1_000_000, 10_000_000, 1_000_000_000

Counts = Annotated[dict[NonEmptyStr, Annotated[int, Field(ge=0, le=_MOST_GPUS)]], BeforeValidator(_counts)]
"""A number for each flavor, by the name of the node groups' accelerator: t4, t4-spot, h100-80gb."""


class QueueArgs(Model):
    """Settings of one queue, a Kueue ClusterQueue: its nominal quota, what it may borrow, and the order of its
    flavors."""

    priority: Priority = "normal"
    """Priority of the queue's jobs. `high` uses the newest accelerators first, `low` and `normal` the oldest. Of two
    jobs that borrow, the one with the lower priority is preempted first."""
    cpus: Annotated[float, Field(ge=0, le=_MOST_CPUS)] = 0
    """Nominal quota of CPU cores on nodes without GPUs. Cores of GPU nodes come with their GPUs."""
    memory_gib: Annotated[float, Field(ge=0, le=_MOST_GIB)] = 0
    """Nominal quota of memory in GiB, on nodes without GPUs."""
    gpus: Counts = Field(default_factory=dict)
    """Nominal quota of GPUs by flavor: `{t4: 12, h100-80gb: 8}`. A flavor is an accelerator, with `-spot` for spot
    machines and a suffix for shared GPUs; `tensorplane tiers` lists them. Without nodeGroups, use `any`, here and in
    `mayBorrow` and `lends`."""
    may_borrow: Counts = Field(default_factory=dict)
    """Borrowing limit by flavor: quota of other queues that jobs may use while it is idle. `cpu` counts cores, with
    memory in proportion to the queue's own. Kueue reclaims it by preemption, so the jobs need checkpoints."""
    lends: Counts = Field(default_factory=dict)
    """Lending limit by flavor: how much of its nominal quota others may borrow while it is idle; all of it by default.
    """
    cohort: Name | None = None
    """Cohort in which it lends and borrows; the stack's own by default, `none` to share nothing."""
    weight: Annotated[float, Field(gt=0, le=1000)] | None = None
    """Fair sharing weight, which decides its share of borrowed quota. If one queue sets it, fair sharing applies to
    all, with weight 1 by default."""
    order: Literal["bestEffort", "strict"] = "bestEffort"
    """Queueing strategy. `strict` admits jobs in order of arrival, even if a later, smaller job would fit sooner."""
    teams: tuple[Name, ...] = ()
    """Teams whose namespaces get a LocalQueue of this queue. The stack's namespace always has one."""


class CohortArgs(Model):
    """Settings of a cohort: queues that lend to each other before they borrow from others."""

    parent: Name | None = None
    """Parent cohort; the stack's own by default."""
    weight: Annotated[float, Field(gt=0, le=1000)] | None = None
    """Fair sharing weight among cohorts."""


_MEMBER = re.compile(r"(group|user):(?!system:)\S(.*\S)?")
_MOST_MEMBERS = 1000


def _check_member(value: str) -> str:
    if not _MEMBER.fullmatch(value):
        refuse_all_but(
            "group:NAME or user:NAME, as the cluster's authentication names them, and not one of Kubernetes' own"
        )
    return value


Member = Annotated[Line, AfterValidator(_check_member)]
"""A group or a user of the cluster."""


TeamAccess = Literal["readOnly", "readWrite"]
"""What a team's pods may do with a volume of the stack."""


class BudgetArgs(Model):
    """What a team may use in a month."""

    gpu_hours: Annotated[float, Field(gt=0, le=1_000_000_000)]
    """GPU-hours per calendar month, in UTC, of all flavors together, as `tensorplane usage` counts them. The policy
    `team-budget` refuses updates while a team has used more and still gets GPUs."""


class TeamArgs(Model):
    """Settings of a team: a namespace with queues."""

    namespace: Name | None = None
    """Namespace of the team; the team's name by default."""
    create: bool = True
    """Whether the stack creates the namespace. An existing one must have the label `app.kubernetes.io/part-of:
    tensorplane`, with which Kueue selects the namespaces that it manages."""
    members: Annotated[tuple[Member, ...], Field(max_length=_MOST_MEMBERS)] = ()
    """Who may run jobs in the namespace: `group:NAME` and `user:NAME`, as the cluster's authentication names them. On
    EKS, `user:` also takes the ARN of an IAM role or user. They may create, see and stop jobs there and read what the
    queues have, nothing else. With members, pods of the namespace connect only to each other and to DNS,
    and those of a sweep's controller to the API server."""
    volumes: dict[Name, TeamAccess] = Field(default_factory=dict)
    """Volumes of the stack that pods of the namespace may mount by their names, and how: `readOnly` or `readWrite`.
    """
    gpus: Annotated[int, Field(ge=0, le=_MOST_GPUS)] | None = None
    """The most GPUs that pods of the namespace hold at a time, of all flavors together; by default all that its queues
    offer."""
    budget: BudgetArgs | None = None
    """What jobs of the team may use in a month; unlimited by default. Running jobs are never stopped for it."""
    retain: bool = True
    """Whether deletion of a created namespace is refused. Set it to false and deploy before you remove the team; the
    namespace is then deleted with everything in it."""
