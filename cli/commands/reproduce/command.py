"""Makes a model again, and says whether it is the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tensorplane.cli import stack_config
from tensorplane.cli.access import Access
from tensorplane.cli.commands.lineage import graph, version_paths
from tensorplane.cli.commands.lineage.command import VersionOptions
from tensorplane.cli.commands.lineage.graph import Node
from tensorplane.cli.commands.lineage.version_paths import VersionPath
from tensorplane.cli.commands.lineage.volumes import Pods, Volumes
from tensorplane.cli.commands.logs import follow
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.commands.reproduce import comparison, recipe
from tensorplane.cli.commands.run import plan, submission
from tensorplane.cli.commands.run.command import submitted_text
from tensorplane.cli.commands.run.plan import Planned
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobRequest
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack


def run(options: VersionOptions, console: Console, *, again: bool) -> None:
    """Reads the recipe, trains, compares. A UserError if a part of the recipe is gone, or if the models differ."""
    resolved = stack_config.load(stack_config.file(options.stack))
    target = version_paths.from_argument(options.target, resolved)
    access = Access.of(options.stack, None, options.context)
    with Pods(access.api, resolved, options.account) as pods:
        node = get_complete_version(target, resolved, pods)
    with tempfile.TemporaryDirectory() as folder:
        job = recipe.job(node, Path(folder), built_here=resolved.config.cluster.images.built_here)
        _train(options, job, node, console, again=again)
    made = job.settings["model"]
    with Pods(access.api, resolved, options.account) as pods:
        # The pods of before may have mounted the volume on another node.
        now = graph.get_node(VersionPath(job.name, made["volume"], made["path"]), pods, code=True)
    if comparison.differing(node.content, now.content):
        raise UserError(*comparison.lines(node, now))
    console.print(Text(comparison.identical(node, now)), soft_wrap=True)


def get_complete_version(target: VersionPath, resolved: ResolvedStack, volumes: Volumes) -> Node:
    """The version with all that it takes to make it again. A UserError with a line for each part that is gone."""
    node = graph.get_node(target, volumes, code=True)
    sources = [graph.source(each, resolved) for each in node.record.get("inputs", ())]
    found = graph.read([each for each in sources if isinstance(each, VersionPath)], volumes)
    lost = [each for each in sources if isinstance(each, Node)]
    if lines := recipe.missing_parts(node, [*found, *lost]):
        raise UserError(*lines)
    return node


def _train(options: VersionOptions, job: JobRequest, node: Node, console: Console, *, again: bool) -> None:
    """Runs the job to its end, as `tensorplane run` does."""

    def planned(job: JobRequest, platform: Platform, attempt: int = 1) -> Planned:
        found = plan.planned(job, platform, attempt, reproduces=recipe.reproduces(node))
        recipe.check_same(found, node)
        return found

    submit_options = submission.SubmitOptions(job, options.stack, context=options.context, again=again)
    this = submission.ready(submit_options, planned)
    if this is None:
        raise TypeError("a dry run, which this is not")
    submitted = submission.submit(this, submitted_text, console)
    if submitted.state == "finished":
        return

    def until_end() -> None:
        submission.until_admitted(this.access, submitted.job_set, console)
        follow.until_end(this.access.api, submitted.job_set, LogsOptions(), console)

    submission.follow(this, until_end, console, hint="Follow it", shows="logs -f", detach=False)
