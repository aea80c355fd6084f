"""Everything about one run: of each stage its progress, ETA and cost, and what was skipped and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tensorplane.cli.api_values import Object
from tensorplane.cli.pipelines import cost, eta, listing, stage_spec, workflow
from tensorplane.cli.pipelines.cost import Cost, Prices
from tensorplane.cli.pipelines.eta import Ahead
from tensorplane.cli.pipelines.listing import Run, StageRun
from tensorplane.cli.pipelines.stage_spec import StageSpec
from tensorplane.components.base.price import Usd


@dataclass(frozen=True)
class Stage:
    """A stage of the run."""

    run: StageRun
    about: StageSpec
    eta_seconds: float | None
    """Until it ends; None where nothing tells, 0 once it has ended."""
    cost: Cost

    @property
    def skipped(self) -> list[str]:
        """What was skipped, and why, a sentence each."""
        run = self.run
        of = f"of {run.parts} {'part' if run.parts == 1 else 'parts'}"
        same = run.skipped - run.former
        found = [f"{same} {of}: same program, params and input as in an earlier run"] if same else []
        return [*found, f"{run.former} {of}: `reprocess: new` keeps their former results"] if run.former else found

    def plain(self) -> dict[str, Any]:
        """Everything, for programs."""
        began = self.run.began and self.run.began.isoformat()
        properties = {"eta_seconds": self.eta_seconds, "why_skipped": self.skipped, **asdict(self.cost)}
        return {**asdict(self.run), **asdict(self.about), **properties, "began": began}


@dataclass(frozen=True)
class Details:
    """A run with its stages."""

    run: Run
    stages: tuple[Stage, ...]

    @property
    def eta_seconds(self) -> float | None:
        """Until the run ends; None where nothing tells."""
        left = [stage.eta_seconds for stage in self.stages]
        known = [each for each in left if each is not None]
        return max(known) if known and len(known) == len(left) else None

    @property
    def usd(self) -> Usd | None:
        """What it has cost so far; None if that of a stage is unknown, or nothing has run."""
        return cost.total(stage.cost for stage in self.stages)

    @property
    def unpriced(self) -> Iterator[tuple[str, list[str]]]:
        """Why costs are unknown, each with the stages of which."""
        reasons = dict.fromkeys(stage.cost.missing for stage in self.stages if stage.cost.missing)
        for reason in reasons:
            yield reason, [stage.run.stage for stage in self.stages if stage.cost.missing == reason]

    def plain(self) -> dict[str, Any]:
        """Everything, for programs."""
        created = self.run.created and self.run.created.isoformat()
        properties = {"eta_seconds": self.eta_seconds, "usd": self.usd and asdict(self.usd)}
        return {
            **asdict(self.run),
            **properties,
            "created": created,
            "stages": [stage.plain() for stage in self.stages],
        }


def of(run: Object, others: Sequence[Object], prices: Prices, now: datetime) -> Details:
    """A run. `others`: further runs of its pipeline, which tell how long its stages take."""
    (found,) = listing.list_runs([run], now)
    earlier = listing.list_runs(others, now)
    stages = listing.all_stages(run, found)
    about = {one.stage: stage_spec.of(run, one.stage) for one in stages}
    ahead = {
        one.stage: Ahead(one, about[one.stage].after, about[one.stage].parallel, eta.last(found, earlier, one.stage))
        for one in stages
    }
    left = dict.fromkeys(ahead, 0.0) if found.state in workflow.ENDS else eta.seconds(ahead)
    costs = {one.stage: cost.of(run, one.stage, prices, now) for one in stages}
    return Details(found, tuple(Stage(one, about[one.stage], left[one.stage], costs[one.stage]) for one in stages))
