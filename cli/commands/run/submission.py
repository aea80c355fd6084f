"""How a person's job or sweep is submitted: checked and planned, created once, then followed until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from rich.console import Console
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.run import create
from tensorplane.cli.commands.run.create import Planned, SubmitState, Submitted
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobRequest
from tensorplane.cli.commands.why import command as why_command
from tensorplane.cli.output.numbers import unit_price
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.price import Usd
from tensorplane.core.errors import UserError
from tensorplane.stack_file import dumping

_P = TypeVar("_P", bound=Planned)
_Made = TypeVar("_Made", bound=Planned, covariant=True)


@dataclass(frozen=True)
class SubmitOptions:
    """What to submit, where, and how: the options that `run` and `sweep` share."""

    job: JobRequest
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


class Plan(Protocol[_Made]):
    """Makes the objects of what is asked for."""

    def __call__(self, job: JobRequest, platform: Platform, attempt: int = 1) -> _Made:
        """A UserError with every problem, a line each. `attempt`: how often the same is to run from the beginning."""


@dataclass(frozen=True)
class Ready(Generic[_P]):
    """What is checked and planned, and where it goes."""

    access: Access
    platform: Platform
    planned: _P

    def command(self, words: str) -> str:
        """A command of `tensorplane` about the run, for messages."""
        return self.access.command(f"{words} {self.planned.run}")


def ready(options: SubmitOptions, plan: Plan[_P]) -> Ready[_P] | None:
    """Checks and plans. None for a dry run, which prints the objects. A UserError if it is refused."""
    access = None if options.dry_run and not options.team else options.access
    platform = Platform.of_team(access) if access and access.team else Platform.of_stack(options.stack)
    planned = plan(options.job, platform)
    if options.dry_run:
        print(dumping.dumped_all(planned.objects), end="")
        return None
    access = access or options.access
    if options.again:
        create.check_none_runs(access.api, planned)
        # Another attempt than any before, also than one whose objects were deleted.
        planned = plan(options.job, platform, attempt=int(time.time()))
    return Ready(access, platform, planned)


def submit(this: Ready[_P], text_of: Callable[[_P, SubmitState], str], console: Console) -> Submitted:
    """Creates what is missing, and prints what was done, which `text_of` words."""
    try:
        found = create.submit(this.access.api, this.planned)
    except KeyboardInterrupt:
        reason = "interrupted; run the same command to complete it, or cancel it"
        raise UserError(f"{this.planned.run}: {reason}") from None
    console.print(Text(text_of(this.planned, found.state)))
    return found


def follow(
    this: Ready[_P], until_end: Callable[[], None], console: Console, *, hint: str, shows: str, detach: bool
) -> None:
    """Follows it, or with `detach` says how. Ctrl-C leaves it running. A UserError if it fails.

    `shows`: the command that shows it, introduced by `hint`.
    """
    if detach:
        console.print(Text(f"{hint}: {this.command(shows)}", style="dim"), soft_wrap=True)
        return
    try:
        until_end()
    except KeyboardInterrupt:
        console.print(Text(f"\n{this.planned.run} goes on. {hint}: {this.command(shows)}"), soft_wrap=True)
        console.print(Text(f"Stop it: {this.command('cancel')}"), soft_wrap=True)
        raise SystemExit(130) from None


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


def size_text(planned: Size) -> str:
    """What a job asks for, and what that costs."""
    gpus = f", {number_of(planned.gpus, 'GPU')}" if planned.gpus else ""
    return f"{number_of(planned.pods, 'pod')}{gpus}, {_price(planned.hourly)}"


def _price(hourly: Usd | None) -> str:
    if hourly is None:
        return "price unknown"
    low, high = unit_price(hourly.low), unit_price(hourly.high)
    return f"about ${low} per hour" if low == high else f"about ${low} to ${high} per hour"


_LOOK_SECONDS = 1.0


def until_admitted(access: Access, job_set: Object, console: Console) -> None:
    """Prints why it waits, whenever that changes and has not passed a moment later."""
    text_of = before = ""
    while True:
        found = why_command.explained(access, job_set)
        if found.state not in ("waiting", "stuck"):
            return
        now = "\n".join([*found.lines, *found.after])
        if now == before and now != text_of:
            why_command.show(found, console)
            text_of = now
        before = now
        time.sleep(_LOOK_SECONDS)
