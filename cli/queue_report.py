"""The queues that a preview shows, and which jobs may be stopped for others at what cost. No text layout here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cli import tier_rows
from cli.tier_rows import Kind, Tier

QUEUE = "tensorplane:index:Queue"
JOB = "tensorplane:index:TrainingJob"
STAKE_HEADINGS = ("job", "may borrow", "stopped for", "saves first", "lost at most")

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Stake:
    """What it means for one job to be stopped."""

    job: str
    queue: str
    kinds: tuple[str, ...]
    """Kinds of machines that it may hold by borrowing."""
    owners: tuple[str, ...]
    """Queues that may want them back."""
    pods: int
    gpus: int
    save_seconds: float
    grace_seconds: float
    steps: int

    @property
    def cells(self) -> tuple[str, ...]:
        """A text for each of the headings."""
        return (
            f"{self.job} (queue {self.queue})",
            f"{_size(self.pods, self.gpus)} of {' or '.join(self.kinds)}",
            ", ".join(self.owners) or "whoever lends",
            f"a checkpoint: {self.save_seconds:g} s of the {self.grace_seconds:g} s that it has",
            f"the step under way; where it cannot save, as when a node vanishes, {self.steps} steps",
        )


@dataclass(frozen=True)
class Queues:
    """The queues of a stack: as they are deployed, and as they would be."""

    before: Mapping[str, Facts] = field(default_factory=dict)
    after: Mapping[str, Facts] = field(default_factory=dict)
    stakes: tuple[Stake, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    @property
    def tiers(self) -> tuple[list[Tier], list[Tier]]:
        """Before and after."""
        return tier_rows.tiers(self.before), tier_rows.tiers(self.after)

    @property
    def kinds(self) -> tuple[list[Kind], list[Kind]]:
        """Before and after."""
        return tier_rows.kinds(self.before), tier_rows.kinds(self.after)


def of(components: Mapping[str, Mapping[str, tuple[Facts, Facts]]]) -> Queues:
    """From what components register, by type and name: what they did before, and what they would."""
    states = components.get(QUEUE, {})
    before = {name: old for name, (old, _) in states.items() if _is_told(old)}
    after = {name: new for name, (_, new) in states.items() if _is_told(new)}
    jobs = {name: new for name, (_, new) in components.get(JOB, {}).items()}
    return Queues(before, after, tuple(_stakes(jobs, tier_rows.tiers(after))))


def _is_told(facts: Facts) -> bool:
    """Whether a queue says which machines there are: one of version 0.1.0 does not."""
    return "machines" in facts


def _stakes(jobs: Mapping[str, Facts], tiers: list[Tier]) -> Iterator[Stake]:
    shares = {(tier.name, share.kind): share for tier in tiers for share in tier.shares}
    for name, facts in sorted(jobs.items()):
        if stake := facts.get("mayBeStopped"):
            borrowed = (shares.get((facts["queue"], kind)) for kind in stake["borrowed"])
            owners = dict.fromkeys(lender for share in borrowed if share for lender in share.lenders)
            yield Stake(
                name,
                facts["queue"],
                tuple(stake["borrowed"]),
                tuple(owners),
                int(stake["pods"]),
                int(stake["gpus"]),
                stake["saveSeconds"],
                stake["graceSeconds"],
                int(stake["steps"]),
            )


def _size(pods: int, gpus: int) -> str:
    told = f"{pods} pod{'s' if pods != 1 else ''}"
    return f"{told} with {gpus} GPUs" if gpus else told
