"""What the steps of a stage besides its program have said: they need no pod, and their nodes tell it."""

from __future__ import annotations

from cli.api_values import Object
from cli.pipelines import workflow

ONLY = ("plan", "commit")
"""Steps that a stage takes once."""
_AFTER = ("keep", "commit")
"""Steps after the program."""


def said(run: Object, stage: str) -> dict[tuple[str, int], str]:
    """By step and the number of the part, 0 for those that are taken once, in their order."""
    found = {}
    for node in workflow.nodes(run).values():
        step, text = workflow.step_of(node, stage), node.get("message")
        if step in (*ONLY, *_AFTER) and text and node["phase"] == "Succeeded":
            found[step, int(workflow.given(node, "item") or 0)] = str(text)
    return dict(sorted(found.items(), key=lambda item: order(item[0])))


def order(place: tuple[str, int]) -> tuple[int, str, int]:
    """Where the lines of a step, of a part or of a pod of a job come."""
    role, index = place
    return (0 if role == "plan" else 2 + _AFTER.index(role) if role in _AFTER else 1, role, index)
