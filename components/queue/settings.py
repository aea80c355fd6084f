"""Settings of queues, of the cohorts in which they lend to each other, and of the teams that use them."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from components.model import Filled, Model, Name, refuse
from components.queue.flavors import ANY

Priority = Literal["low", "normal", "high"]
PRIORITIES: dict[Priority, int] = {"low": 100, "normal": 1000, "high": 10000}
"""What Kueue compares: of two jobs that could be stopped, the one with the lower number is."""
ALONE = "none"
"""The cohort of a queue that neither lends nor borrows."""


def _counts(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        refuse(f"a number for each kind of GPU, such as {{t4: {max(value, 1)}}}, or {{{ANY}: …}} without nodeGroups")
    return value


Counts = Annotated[dict[Filled, Annotated[int, Field(ge=0)]], BeforeValidator(_counts)]
"""A number for each kind of machine, by the name that node groups give it: t4, t4-spot, h100-80gb."""


class QueueArgs(Model):
    """Settings of one queue: what its jobs are sure of, what they may borrow, and which machines they take first."""

    priority: Priority = "normal"
    """`high` takes the newest cards first, `low` and `normal` the oldest. Of two jobs that borrow, the lower one has to
    give back first."""
    cpus: Annotated[float, Field(ge=0)] = 0
    """CPU cores of nodes without GPUs that the queue's running jobs are sure of. Those of nodes with GPUs come with the
    GPUs."""
    memory_gib: Annotated[float, Field(ge=0)] = 0
    """Memory in GiB of nodes without GPUs that the queue's running jobs are sure of."""
    gpus: Annotated[Counts, Field(default_factory=dict)]
    """GPUs that the queue's running jobs are sure of, by kind: `{t4: 12, h100-80gb: 8}`. A kind is a card, with `-spot`
    for spot machines and the way of sharing for shared ones: `tensorplane tiers` lists them. `any` where there are no
    nodeGroups, here as in what is borrowed and lent."""
    may_borrow: Annotated[Counts, Field(default_factory=dict)]
    """What its jobs may use beyond that while others leave it idle, by kind; `cpu` counts cores, with memory in the
    proportion of the queue's own. They are stopped when the owner wants it back: they need checkpoints."""
    lends: Annotated[Counts, Field(default_factory=dict)]
    """How much of its own it lends at most while it is idle, by kind; all of it by default."""
    cohort: Name | None = None
    """The cohort in which it lends and borrows; the stack's own by default, `none` for none at all."""
    weight: Annotated[float, Field(gt=0, le=1000)] | None = None
    """Its part of what several queues want to borrow, beside the weights of the others. With one queue's weight given,
    all count, 1 by default."""
    order: Literal["bestEffort", "strict"] = "bestEffort"
    """`strict`: jobs start in the order in which they came, also where a later, smaller one would fit sooner."""
    teams: tuple[Name, ...] = ()
    """Teams whose namespaces have the queue as well; the stack's own always has it."""


class CohortArgs(Model):
    """Settings of a cohort: queues that lend to each other before they borrow from the rest."""

    parent: Name | None = None
    """The cohort around it; the stack's own by default."""
    weight: Annotated[float, Field(gt=0, le=1000)] | None = None
    """Its part of what several cohorts want to borrow."""


class TeamArgs(Model):
    """Settings of a team: a namespace that has queues."""

    namespace: Name | None = None
    """The team's namespace; by default its name."""
    create: bool = True
    """Whether the stack makes the namespace. One that is there already has to have the label
    `app.kubernetes.io/part-of: tensorplane`, by which Kueue knows what it manages."""
    retain: bool = True
    """Whether the stack refuses to delete the namespace that it made. Set it to false and deploy that before you remove
    the team: the namespace is deleted then, with all that is in it."""
