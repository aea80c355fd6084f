"""What components of tensorplane register, where a state of an older version may lack it."""

from __future__ import annotations

from typing import Any

from gpu_usage.manifest import UncountableError

from stack_view.view import Resource, View, known

_NAMESPACE = "tensorplane:index:Namespace"


def of(resource: Resource, key: str) -> Any:
    """A value that this version always registers. Raises UncountableError for a component of an older one."""
    value = known(resource.body, key)
    if value is None:
        problem = f"{resource.who} does not register `{key}`: an older tensorplane deployed it"
        raise UncountableError(problem, "judge a preview instead, or deploy the stack with this version")
    return value


def teams(view: View) -> dict[Any, str]:
    """The stack's teams, by their namespaces."""
    registered = (of(resource, "teams") for resource in view.of(_NAMESPACE))
    return {namespace: team for teams in registered for team, namespace in teams.items()}
