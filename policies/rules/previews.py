"""What a preview must show, so that the other rules can judge it."""

from __future__ import annotations

from collections.abc import Iterator

from stack_view.rule import Config, Finding, Rule, Severity
from stack_view.view import Resource, View

_REMEDY = (
    "run `tensorplane preview --stack {stack}`, or set PULUMI_LEGACY_PROVIDER_PREVIEW=1, as `. .venv/bin/activate` does"
)


def _shown(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    if hidden := view.hidden:
        shown = min(hidden, key=lambda resource: resource.who).who
        resources = f"{len(hidden)} resources, such as {shown}" if len(hidden) > 1 else shown
        problem = (
            f"policies see nothing of {resources}, since this preview cannot ask a cluster that does not exist yet"
        )
        yield None, Finding(problem, _REMEDY.format(stack=view.stack))


POLICIES = [
    Rule(
        _shown,
        name="resources-shown",
        description="The preview shows the properties of every resource. Otherwise, no other rule judges the stack.",
        remedy="Preview with PULUMI_LEGACY_PROVIDER_PREVIEW=1, as `tensorplane preview` does.",
        severity=Severity.CRITICAL,
        tags=["previews"],
        needs_view=False,
    )
]
