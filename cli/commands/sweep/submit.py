"""`tensorplane sweep -f`: submits a sweep, and follows it to its end."""

from __future__ import annotations

import time

import yaml
from rich.console import Console
from rich.text import Text

from cli.commands.run import submission
from cli.commands.run.platform import Platform
from cli.commands.run.query import Question as Question
from cli.commands.run.query import asked
from cli.commands.run.submission import Submitted
from cli.commands.sweep import follow, plan, results
from cli.commands.sweep.plan import Planned
from components.base.plural import counted
from driver import sweep_image
from driver.target import Target
from embedded.fault import Fault


def run(question: Question, console: Console) -> None:
    """Submits the sweep, and follows it unless that is not wanted. A Fault if it is refused, or fails."""
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
    if not access.team and (target := Target.of(question.context, stack=question.stack)).embedded:
        sweep_image.provide(target.instance, planned.image)
    try:
        submitted = submission.submit(access.api, planned)
    except KeyboardInterrupt:
        raise Fault(f"{planned.run}: interrupted; run the same command to complete it, or cancel it") from None
    console.print(Text(_told(planned, submitted)))
    if submitted.came == "finished":
        if found := follow.of_run(access, submitted.job_set):
            results.show(found, console)
        return
    if question.detach:
        console.print(Text(f"See its results with: {access.command(f'sweep {planned.run}')}", style="dim"))
        return
    try:
        follow.until_end(access, submitted.job_set, console)
    except KeyboardInterrupt:
        console.print(Text(f"\n{planned.run} goes on. See its results: {access.command(f'sweep {planned.run}')}"))
        console.print(Text(f"Stop it: {access.command(f'cancel {planned.run}')}"))
        raise SystemExit(130) from None


def _told(planned: Planned, submitted: Submitted) -> str:
    """What was submitted, and what it costs."""
    size = f"{counted(planned.trials, 'trial')}, {planned.parallel} at once"
    what = {
        "new": f"submitted to {planned.namespace}: {size}, {asked(planned)}",
        "there": f"is submitted already: {size}, {asked(planned)}",
        "finished": "the same sweep with the same files has finished already; run it once more with --again",
        "changed": f"goes on with its study: {size}, {asked(planned)}",
        "continued": f"goes on with its study: {size}, {asked(planned)}",
    }
    return f"{planned.run}: {what[submitted.came]}"
