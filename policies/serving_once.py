"""The engine's request to judge a stack, read once for all rules.

pulumi-policy (1.21) reads all resources of the stack again for each stack policy: with fifty rules, fifty times. Here
the first policy of a request gets them, and the others get none and judge the same view (`stack_view.rule.view_of`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from pulumi_policy import policy as framework

_Answer = Callable[[Any, Any, Any], Any]


class _ReadOnce:
    """A request to judge a stack that gives its resources once."""

    def __init__(self, request: Any) -> None:
        self._resources = request.resources

    @property
    def resources(self) -> Any:
        """The resources the first time, then none."""
        found, self._resources = self._resources, ()
        return found


def _reading_once(judge: _Answer) -> _Answer:
    return lambda servicer, request, context: judge(servicer, _ReadOnce(request), context)


def install() -> None:
    """Makes the framework read the resources once. The pack's process ends with the preview or the update, so what it
    no longer uses need not be collected either: the collector would look at every value of the stack again and again.
    """
    servicer = framework._PolicyAnalyzerServicer  # there is no other place between engine and policies
    servicer.AnalyzeStack = _reading_once(servicer.AnalyzeStack)
    gc.disable()
