"""`tensorplane sweep -f`: submits a sweep, and follows it to its end."""

from __future__ import annotations

from rich.console import Console

from cli.access import Access
from cli.commands.run import submission
from cli.commands.run.create import Came
from cli.commands.run.size import size_text
from cli.commands.run.submission import SubmitOptions
from cli.commands.sweep import follow, plan, results
from cli.commands.sweep.plan import Planned
from components.base.plural import counted
from driver import sweep_image
from driver.target import Target


def run(options: SubmitOptions, console: Console) -> None:
    """Submits the sweep, and follows it unless that is not wanted. A UserError if it is refused, or fails."""
    this = submission.ready(options, plan.planned)
    if this is None:
        return
    _provide_image(this.access, this.planned.image)
    submitted = submission.submit(this, _told, console)
    if submitted.came == "finished":
        if found := follow.of_run(this.access, submitted.job_set):
            results.show(found, console)
        return

    def until_end() -> None:
        follow.until_end(this.access, submitted.job_set, console)

    submission.follow(this, until_end, console, hint="See its results", shows="sweep", detach=options.detach)


def _provide_image(access: Access, image: str) -> None:
    """Loads the controller's image into the embedded cluster; for teams, `make up` has done that."""
    if not access.team and (target := Target.of(access.context, stack=access.stack)).embedded:
        sweep_image.provide(target.instance, image)


def _told(planned: Planned, came: Came) -> str:
    """What was submitted, and what it costs."""
    size = f"{counted(planned.trials, 'trial')}, {planned.parallel} at once, {size_text(planned)}"
    what = {
        "new": f"submitted to {planned.namespace}: {size}",
        "there": f"is submitted already: {size}",
        "finished": "the same sweep with the same files has finished already; run it once more with --again",
        "changed": f"goes on with its study: {size}",
        "continued": f"goes on with its study: {size}",
    }
    return f"{planned.run}: {what[came]}"
