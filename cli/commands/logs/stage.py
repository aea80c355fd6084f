"""Prints the logs of a pipeline's stage: what was said of its plan, the lines of its program on each part, and what was
said of the commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.logs import deleted_pods, lines, pods
from tensorplane.cli.commands.logs.follow import Followed
from tensorplane.cli.commands.logs.pods import LogsOptions, Source
from tensorplane.cli.pipelines import listing, workflow
from tensorplane.cli.pipelines import pods as of_pipelines
from tensorplane.cli.pipelines.listing import StageRun
from tensorplane.cli.pipelines.pods import PodOfStage
from tensorplane.components.base.plural import none_of
from tensorplane.core.errors import UserError
from tensorplane.driver.runs import failures
from tensorplane.stack_file.nearest import did_you_mean
from tensorplane.workloads.pipeline import run as pipeline_run


@dataclass(frozen=True)
class Stage:
    """A stage of a run."""

    run: Object
    """The Workflow."""
    name: str

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.run['metadata']['name']}/{self.name}"

    @property
    def status(self) -> StageRun | None:
        """What the Workflow says of it; None as long as the stage has not begun."""
        (run,) = listing.list_runs([self.run], datetime.now(UTC))
        return next((one for one in run.stages if one.stage == self.name), None)

    @property
    def ended(self) -> str:
        """The state in which it has ended, or the run without it; empty as long as it may go on."""
        found = (self.status.state if self.status else "", workflow.state_of(self.run))
        return next((state for state in found if state in workflow.ENDS), "")


def find_stage(access: Access, target: str) -> Stage | None:
    """The stage that PIPELINE/STAGE or RUN/STAGE means, of a pipeline's newest run; None for what is no pipeline.

    A UserError for a pipeline without runs, or without this stage.
    """
    pipeline, _, name = target.partition("/")
    if access.team or (not name and pipeline not in workflow.declared(access)):
        return None
    workflows = access.api.items(pipeline_run.path(pipeline_run.WORKFLOWS, access.namespace)) if name else []
    if not (found := workflow.chosen(workflows, pipeline)):
        if pipeline not in workflow.declared(access):
            return None
        found = workflow.of_name(access, pipeline)
    stages = workflow.stages(found[0])
    if name in stages:
        return Stage(found[0], name)
    run = found[0]["metadata"]["name"]
    if not stages:
        raise UserError(
            f"{run}: has not begun, so it has no pods; look with: {access.command(f'runs list {pipeline}')}"
        )
    remedy = f"choose one of {', '.join(f'{pipeline}/{each}' for each in stages)}{did_you_mean(name, stages)}"
    raise UserError(
        f"{target}: is a pipeline; {remedy}" if not name else f"{target}: {run} has no such stage; {remedy}"
    )


def show(access: Access, stage: Stage, options: LogsOptions, console: Console) -> None:
    """Prints why parts failed, then the lines that there are. A UserError if there are none."""
    all_pods, step_messages = (
        of_pipelines.of(access.api, stage.run, stage.name),
        workflow.step_messages(stage.run, stage.name),
    )
    if all_pods:
        _check(options, stage, [*(one.role_and_index for one in all_pods), *step_messages])
    chosen = [one for one in all_pods if _matches(one.role_and_index, options)]
    _print_reason(stage, chosen, console)
    of_pods: dict[tuple[str, int], list[str]] = {}
    for one in _latest_tries(chosen, options):
        read = [line for source in _sources(one) for line in source.read(access.api, options.query)]
        if one.containers:
            of_pods[one.role_and_index] = read
    if not any(not one.of_argo for one in all_pods):
        of_pods |= _kept_lines(access, stage, options)
    of_steps = (
        {}
        if options.previous
        else {
            role_and_index: [text]
            for role_and_index, text in step_messages.items()
            if _matches(role_and_index, options)
        }
    )
    found = {**of_steps, **of_pods}
    if not found:
        raise UserError(_why_no_lines(access, stage, options, all_pods))
    lines.show(dict(sorted(found.items(), key=lambda item: workflow.line_order(item[0]))), console)
    if not of_pods and stage.status and stage.status.done and options.role not in workflow.ONE_TIME_STEPS:
        console.print(Text(_why_no_lines(access, stage, options, all_pods), style="yellow"), soft_wrap=True)


def follow(access: Access, stage: Stage, options: LogsOptions, console: Console) -> None:
    """Prints lines as they come until the stage has ended. A UserError if it failed."""
    path = pipeline_run.path(pipeline_run.WORKFLOWS, access.namespace, stage.run["metadata"]["name"])
    followed, ended = Followed(access.api, options, console), ""
    while not ended:
        if (run := access.api.get(path)) is None:
            raise UserError(f"{stage.run['metadata']['name']}: was deleted")
        stage = Stage(run, stage.name)
        ended = stage.ended
        all_pods = of_pipelines.of(access.api, run, stage.name)
        # A part that nobody has worked on yet is no problem of --index.
        chosen = [one for one in all_pods if _matches(one.role_and_index, options)]
        step_messages = workflow.step_messages(run, stage.name)
        followed.tell(
            {
                role_and_index: text
                for role_and_index, text in step_messages.items()
                if _matches(role_and_index, options)
            }
        )
        wide = lines.wide([*step_messages, *(one.role_and_index for one in all_pods)])
        followed.go_on([source for one in chosen for source in _sources(one)], wide)
    followed.settle()
    if ended != "finished":
        _print_reason(stage, chosen, console)
        raise UserError(f"{stage.title}: {ended}")
    commit = stage.status.commit if stage.status else ""
    made = f"; commit {commit[:12]}" if commit else ""
    console.print(f"{stage.title}: finished{made}", style="bold green", highlight=False, soft_wrap=True)


def _sources(one: PodOfStage) -> list[Source]:
    """The logs of its containers."""
    about = one.pod["metadata"]
    if not one.of_argo:
        return [pods.source(one.pod)] if one.containers else []
    return [
        Source(one.role_and_index, pods.log_path(one.pod), (about["uid"], container), container, of_argo=True)
        for container in one.containers
    ]


def _check(options: LogsOptions, stage: Stage, roles_and_indices: Sequence[tuple[str, int]]) -> None:
    """A UserError if none of these pods has this role or index."""
    roles = list(dict.fromkeys(role for role, _ in sorted(roles_and_indices, key=workflow.line_order)))
    if options.role and options.role not in roles:
        remedy = f"choose one of {', '.join(roles)}{did_you_mean(options.role, roles)}"
        raise UserError(f"--role: {stage.title} has no pod of role {options.role}; {remedy}")
    if not any(_matches(role_and_index, options) for role_and_index in roles_and_indices):
        have = sorted({index for role, index in roles_and_indices if role not in workflow.ONE_TIME_STEPS})
        worked = f"choose one of {', '.join(map(str, have))}" if have else "no part needed work"
        raise UserError(f"--index: {stage.title} has no pod of index {options.index}; {worked}")


def _matches(role_and_index: tuple[str, int], options: LogsOptions) -> bool:
    role, index = role_and_index
    return options.role in (None, role) and (
        options.index is None or (role not in workflow.ONE_TIME_STEPS and index == options.index)
    )


def _latest_tries(found: Sequence[PodOfStage], options: LogsOptions) -> list[PodOfStage]:
    """The last try of each role and index, or with `previous` the one before."""
    tries: dict[tuple[str, int], list[PodOfStage]] = {}
    for one in found:
        tries.setdefault(one.role_and_index, []).append(one)
    wanted = 2 if options.previous else 1
    return [each[-wanted] for each in tries.values() if len(each) >= wanted]


def _print_reason(stage: Stage, chosen: Sequence[PodOfStage], console: Console) -> None:
    """Why the stage failed, or chosen parts, before their lines."""
    status = stage.status
    if not status or not (status.failed or status.state == "failed"):
        return
    if status.why:
        console.print(Text(f"{stage.title}: {status.why}", style="bold red"), soft_wrap=True)
    for line in failures.first_failure(one.without_executor for one in _latest_tries(chosen, LogsOptions())):
        if not workflow.is_of_argo(line.strip()):
            console.print(Text(line, style="red"), soft_wrap=True)


def _kept_lines(access: Access, stage: Stage, options: LogsOptions) -> dict[tuple[str, int], list[str]]:
    """Lines of deleted pods that jobs of the stage have kept."""
    found: dict[tuple[str, int], list[str]] = {}
    for job_set in of_pipelines.job_sets(access.api, stage.run, stage.name):
        found |= deleted_pods.lines(access.api, job_set, options)
    return found


def _why_no_lines(access: Access, stage: Stage, options: LogsOptions, all_pods: Sequence[PodOfStage]) -> str:
    """Why there are no lines."""
    look = f"look with: {access.command(f'runs list {workflow.pipeline_of(stage.run)}')}"
    if options.previous and all_pods:
        return f"{stage.title}: no pod of it was tried again"
    if stage.status is None:
        return f"{stage.title}: has not begun, so it has no pods; {look}"
    if not all_pods and stage.status.state in workflow.ENDS:
        keepers = "jobs with `checkpoints` and a Python command keep their logs"
        return f"{stage.title}: its pods are deleted, as those of a run are an hour after it has finished; {keepers}"
    return f"{stage.title}: {none_of(len(all_pods), 'pod')} started; {look}"
