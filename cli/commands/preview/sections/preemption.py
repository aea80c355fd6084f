"""Which jobs can be preempted, for which queues, and what that costs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from rich.console import RenderableType

from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.section import list_lines, tabled
from tensorplane.cli.commands.preview.sections import queues
from tensorplane.cli.commands.tiers import rows
from tensorplane.cli.commands.tiers.rows import Share
from tensorplane.cli.output import aggregated
from tensorplane.cli.output.tables import table
from tensorplane.components.base import outputs
from tensorplane.components.base.plural import number_of

_HEADINGS = ("job", "borrowable", "preempted for", "saves first", "loses at most")
_PREEMPTED = (
    "These jobs can borrow quota that is guaranteed to other queues. When an owner's job needs it, Kueue preempts them:"
    " they save a checkpoint, stop, and resume from it when quota is free again."
)


@dataclass(frozen=True)
class Stake:
    """The effects of preemption for a job."""

    job: str
    queue: str
    flavors: tuple[str, ...]
    """Flavors that it can borrow."""
    owners: tuple[str, ...]
    """Queues that lend them."""
    pods: int
    gpus: int
    save_seconds: float
    grace_seconds: float
    steps: int | None
    """Steps between two checkpoints; None if the job computes them."""

    @property
    def cells(self) -> tuple[str, ...]:
        """A text for each of the headings."""
        return (
            f"{self.job} (queue {self.queue})",
            f"{_size(self.pods, self.gpus)} of {' or '.join(self.flavors)}",
            ", ".join(self.owners) or "any lender",
            f"a checkpoint: {self.save_seconds:g} s of {self.grace_seconds:g} s grace",
            f"the current step; {self._lost} if a node fails",
        )

    @property
    def _lost(self) -> str:
        return "the steps since the last checkpoint" if self.steps is None else f"{self.steps} steps"


def terminal(report: Report, _: int) -> Iterator[RenderableType]:
    """A table."""
    if found := stakes(report):
        yield table(_HEADINGS, aggregated.rows((stake.cells for stake in found), report.names))
        yield ""


def markdown(report: Report) -> Iterator[str]:
    """A table; without jobs for it, what borrowing means where queues change."""
    if found := stakes(report):
        yield "## Preemption"
        yield _PREEMPTED
        yield from tabled(report, _HEADINGS, (stake.cells for stake in found))
    elif lines := list(_borrowing(report)):
        yield "## Preemption"
        yield from list_lines(report, lines)


def _borrowing(report: Report) -> Iterator[str]:
    """A line for each queue that borrows, if any queue changes: how the owners get back what they lend."""
    if queues.before(report) == queues.after(report):
        return
    former = {
        (tier.name, share.flavor, share.borrowable, share.lenders)
        for tier in rows.tiers(queues.before(report))
        for share in tier.shares
    }
    for tier in rows.tiers(queues.after(report)):
        for share in (each for each in tier.shares if each.borrowable and each.lenders):
            amount, owners = rows.amount_text(share.flavor, share.borrowable), " and ".join(share.lenders)
            same = (tier.name, share.flavor, share.borrowable, share.lenders) in former
            as_before = "As before: " if same else ""
            yield (
                f"{as_before}queue {tier.name} may borrow {amount} {share.flavor} from {owners}. When a job of the"
                " owner needs them, Kueue stops jobs that borrow, which wait for quota again. No training job of this"
                f" stack borrows; a job that people submitted to {tier.name} loses what it did since its last"
                " checkpoint"
            )


def stakes(report: Report) -> list[Stake]:
    """The training jobs that can run on borrowed quota, by name."""
    tiers = rows.tiers(queues.after(report))
    shares = {(tier.name, share.flavor): share for tier in tiers for share in tier.shares}
    jobs = sorted((name, new) for name, (_, new) in report.registered("TrainingJob").items())
    return [_stake(name, cast(outputs.TrainingJob, new), shares) for name, new in jobs if new.get("mayBeStopped")]


def _stake(name: str, job: outputs.TrainingJob, shares: Mapping[tuple[str, str], Share]) -> Stake:
    stake, queue = job["mayBeStopped"], job["queue"]
    borrowed = (shares.get((queue or "", flavor)) for flavor in stake["borrowed"])
    owners = dict.fromkeys(lender for share in borrowed if share for lender in share.lenders)
    return Stake(
        name,
        queue or "",
        tuple(stake["borrowed"]),
        tuple(owners),
        int(stake["pods"]),
        int(stake["gpus"]),
        stake["saveSeconds"],
        stake["graceSeconds"],
        None if stake["steps"] is None else int(stake["steps"]),
    )


def _size(pods: int, gpus: int) -> str:
    size = number_of(pods, "pod")
    return f"{size} with {number_of(gpus, 'GPU')}" if gpus else size
