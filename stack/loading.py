"""The running stack's settings, read, checked and resolved, or every fault in them at once."""

from dataclasses import replace
from pathlib import Path

import pulumi

from components.base import consequences, faults
from components.base import settings as stack_settings
from components.base.settings import Settings
from components.clusters.override import with_context
from stack import checks
from stack.resolved import ResolvedStack
from stack.settings import StackConfig


def load(settings: Settings | None = None, project: Path | None = None) -> ResolvedStack:
    """The settings, of the running stack by default, or `pulumi.RunError` with every fault in them, a line each.

    `project`: the folder that the paths of workloads' files are relative to, by default this project.
    """
    running, settings = settings is None, settings or Settings.of_stack()
    settings = replace(settings, tree=with_context(settings.tree))
    config, found = stack_settings.validated(StackConfig, settings)
    found += stack_settings.misread(config, settings.rewritten, found)
    found += stack_settings.empty(config, settings.tree, found)
    resolved = ResolvedStack.of(config, settings.secret, project)
    beyond = faults.certain(checks.faults(resolved, settings), settings.unread)
    for key in ("cluster", "gpuRuntime"):
        if settings.tree.get(key) is None:
            beyond = consequences.of_default((key,), beyond)
    wrong = consequences.own_causes(found, beyond)
    words = settings.secret_words()
    fault_lines = [*faults.hiding(found, (), words), *faults.hiding(wrong, settings.secret, words)]
    faults.stop([*settings.wrong, *fault_lines])
    if running and (nothing := settings.declares_nothing()):
        raise pulumi.RunError(nothing)
    return resolved
