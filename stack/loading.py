"""The running stack's settings, read, checked and resolved, or every problem in them at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tensorplane.components.base import problems, retired, stack_name, validation
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.settings import Settings
from tensorplane.components.clusters.existing import with_context
from tensorplane.core.errors import UserError
from tensorplane.stack import checks, platform_stack
from tensorplane.stack.platform_stack import Joined
from tensorplane.stack.resolved import ResolvedStack
from tensorplane.stack.settings import StackConfig
from tensorplane.stack_file import file_problems


def load(settings: Settings | None = None, project: Path | None = None) -> ResolvedStack:
    """The settings, of the running stack by default, or a UserError with every problem in them, a line each.

    `project`: the folder that the paths of workloads' files are relative to, by default this project.
    """
    running, own = settings is None, settings or Settings.of_stack()
    resolved = _on_platform(own, project) if platform_stack.is_named(own) else _checked(own, project)
    if running and (nothing := own.declares_nothing()):
        raise UserError(nothing)
    return resolved


def load_on(own: Settings, platform: Settings, config: StackConfig, project: Path | None) -> ResolvedStack:
    """Workloads on a platform of the same program.

    `own`: their settings, as of a workload stack. `config`: of the platform's settings.
    """
    return _checked(own, project, platform_stack.joined(own, platform, config))


def _on_platform(own: Settings, project: Path | None) -> ResolvedStack:
    """A workload stack, on the platform that it names."""
    platform = platform_stack.settings_of(own)
    try:
        config = _checked(platform, None).config
    except UserError as error:
        name = own.tree[platform_stack.PLATFORM]
        raise UserError(*(f"stack {name}: {line}" for line in error.lines)) from None
    return _checked(own, project, platform_stack.joined(own, platform, config))


def _checked(own: Settings, project: Path | None, joined: Joined | None = None) -> ResolvedStack:
    """The resolved settings of one stack; of a workload stack, together with those of its platform."""
    settings = (joined.settings if joined else own).under_present_names()
    settings = replace(settings, tree=with_context(settings.tree))
    config, found = validation.validate(StackConfig, settings)
    found += validation.misread(config, settings.rewritten, found)
    found += validation.empty(config, settings.tree, found)
    resolved = ResolvedStack.of(config, settings.secret, project, joined.on if joined else None)
    found, of_file = settings.beside(found)
    # What is concluded from something that Pulumi misreads may be wrong.
    misread = [Problem(at, each.text, among=at[:-1]) for each in of_file if (at := each.value or each.key)]
    beyond = problems.certain(checks.find_problems(resolved, settings), settings.unread)
    beyond = problems.as_written(beyond, settings.tree)
    for key in ("cluster", "gpuRuntime"):
        if settings.tree.get(key) is None:
            beyond = problems.caused_by_default((key,), beyond)
    roots = problems.root_causes([*found, *misread], beyond)
    words = settings.secret_words()
    resolved = replace(resolved, secret_words=frozenset(words), former_names=settings.notes)
    if joined:
        between: Iterable[Problem] = joined.problems
    else:
        between = platform_stack.shared_names(config.workloads, stack_name.current(), own.folder)
    found = [*between, *found]
    problem_lines = [*problems.hiding(found, (), words), *problems.hiding(roots, settings.secret, words)]
    problem_lines = [replace(each, path=retired.as_written(each.path, settings.former)) for each in problem_lines]
    file_lines = file_problems.lines(settings.file, of_file)
    problems.stop([*file_lines, *settings.key_problems, *problems.aggregated(problem_lines)])
    return resolved
