"""The engine's requests, read no more than the rules need.

pulumi-policy (1.21) reads all resources of the stack again for each stack policy: with fifty rules, fifty times. Here
the first policy of a request gets them, and the others get none and judge the same view (`stack_view.rule.view_of`).
The engine also sends each resource alone, twice: a rule of this pack judges the stack, so these are answered unread.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

from pulumi.runtime import proto
from pulumi_policy import Policy, StackValidationPolicy
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


def _unread(answer: type[Any]) -> _Answer:
    return lambda servicer, request, context: answer()


def install(policies: Iterable[Policy]) -> None:
    """Makes the framework read the resources once for these policies. The pack's process ends with the preview or the
    update, so what it no longer uses need not be collected either: the collector would look at every value of the stack
    again and again.
    """
    servicer = framework._PolicyAnalyzerServicer  # there is no other place between engine and policies
    servicer.AnalyzeStack = _reading_once(servicer.AnalyzeStack)
    if all(isinstance(policy, StackValidationPolicy) for policy in policies):
        servicer.Analyze, servicer.Remediate = _unread(proto.AnalyzeResponse), _unread(proto.RemediateResponse)
    gc.disable()
