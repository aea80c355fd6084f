"""Starts a job and follows it: its place in the queue, then its lines, then its end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import yaml
from rich.console import Console
from rich.text import Text

from cli.access import Access
from cli.api_values import Object
from cli.commands.logs import follow
from cli.commands.logs.pods import Choice
from cli.commands.run import plan, submission
from cli.commands.run.asked import Job, section
from cli.commands.run.plan import Planned
from cli.commands.run.platform import Platform
from cli.commands.run.submission import Submitted
from cli.commands.why import query as why
from cli.output.numbers import unit_price
from components.base.plural import counted
from components.base.price import Usd
from driver.runs.job_set import JobSet
from embedded.fault import Fault

_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Question:
    """The command's arguments."""

    job: Job
    stack: str
    team: str | None = None
    context: str = ""
    again: bool = False
    dry_run: bool = False
    detach: bool = False

    @property
    def access(self) -> Access:
        """The cluster that answers."""
        return Access.of(self.stack, self.team, self.context)


def run(question: Question, console: Console) -> None:
    """Submits the job, and follows it unless that is not wanted. A Fault if it is refused, or fails."""
    access = None if question.dry_run and not question.team else question.access
    platform = Platform.of_team(access) if access and access.team else Platform.of_stack(question.stack)
    planned = plan.planned(question.job, platform)
    if question.dry_run:
        print(yaml.safe_dump_all(planned.objects, sort_keys=False), end="")
        return
    access = access or question.access
    if question.again:
        submission.check_none_runs(access.api, planned)
        # Another attempt than any before, also than one whose objects were deleted.
        planned = plan.planned(question.job, platform, attempt=int(time.time()))
    try:
        submitted = submission.submit(access.api, planned)
    except KeyboardInterrupt:
        raise Fault(f"{planned.run}: interrupted; run the same command to complete it, or cancel it") from None
    console.print(Text(told(planned, submitted, section(question.job.training, "onSuccess").get("publish"))))
    if submitted.came == "finished":
        return
    if question.detach:
        console.print(Text(f"Follow it with: {access.command(f'logs -f {planned.run}')}", style="dim"))
        return
    try:
        wait(access, submitted.job_set, console)
        follow.until_end(access.api, submitted.job_set, Choice(), console)
    except KeyboardInterrupt:
        console.print(Text(f"\n{planned.run} goes on. Follow it: {access.command(f'logs -f {planned.run}')}"))
        console.print(Text(f"Stop it: {access.command(f'cancel {planned.run}')}"))
        raise SystemExit(130) from None


def told(planned: Planned, submitted: Submitted, server: str | None) -> str:
    """What was submitted, and what it costs. `server`: the one to which the job publishes."""
    asks, job_set = asked(planned), JobSet(planned.manifest.job_set)
    resumes = job_set.has_checkpoints
    again = "goes on from its checkpoints" if resumes else "starts again"
    before = "; goes on from its checkpoints if it has any" if resumes else ""
    after = f"publishes to {server}" if server else "is not trained again"
    what = {
        "new": f"submitted to {planned.namespace}: {asks}{before}",
        "there": f"is submitted already: {asks}",
        "finished": "the same command with the same files has finished already; run it once more with --again",
        "changed": f"{f'has finished; {after}' if job_set.notes_its_end else again}: {asks}",
        "continued": f"{again}: {asks}",
    }
    return f"{planned.run}: {what[submitted.came]}"


class Size(Protocol):
    """What is submitted asks for."""

    @property
    def pods(self) -> int:
        """All of its pods."""

    @property
    def gpus(self) -> int:
        """GPUs of all of them."""

    @property
    def hourly(self) -> Usd | None:
        """What they cost; None if a price is unknown."""


def asked(planned: Size) -> str:
    """What a job asks for, and what that costs."""
    gpus = f", {counted(planned.gpus, 'GPU')}" if planned.gpus else ""
    return f"{counted(planned.pods, 'pod')}{gpus}, {_price(planned.hourly)}"


def _price(hourly: Usd | None) -> str:
    if hourly is None:
        return "price unknown"
    low, high = unit_price(hourly.low), unit_price(hourly.high)
    return f"about ${low} per hour" if low == high else f"about ${low} to ${high} per hour"


def wait(access: Access, job_set: Object, console: Console) -> None:
    """Until its pods may start: why it waits, whenever that changes and has not passed a moment later."""
    told = before = ""
    while True:
        found = why.explained(access, job_set)
        if found.state not in ("waiting", "stuck"):
            return
        now = "\n".join([*found.lines, *found.after])
        if now == before and now != told:
            why.show(found, console)
            told = now
        before = now
        time.sleep(_LOOK_SECONDS)
