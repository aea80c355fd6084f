"""Reads every resource of a stack, and says which are not as they were deployed. Changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from cli.commands.drift import found
from cli.commands.drift.found import DriftReport
from cli.commands.preview import engine, events
from cli.output import markdown as md
from components.base.plural import counted
from core.errors import UserError
from driver import advice

DRIFTED = 3
"""The exit code if something has drifted; 2 is that of a wrong usage."""


def run(stack: str, context: str, file: Path, console: Console) -> int:
    """Prints a line for each resource that has drifted, and writes the report to `file`."""
    with engine.opened(stack, context) as preview, console.status(f"reading {stack}"):
        if not preview.stays:
            raise UserError(f"stack {stack} is not deployed, so nothing of it can drift; deploy it with {_up(stack)}")
        streamed = replace(preview, pack=None, refresh=True).stream()
        known = streamed.explained(events.report(stack, streamed.events, failed=streamed.failed))
        needed = tuple(
            f"{package}: {why}" for package, why in preview.stand_ins.items() if package in _used(streamed.events)
        )
    if needed:
        raise UserError(f"drift of stack {stack} is not known: its cloud cannot be asked ({'; '.join(needed)})")
    if streamed.failed:
        raise UserError(*(known.faults or tuple(risk.text for risk in known.risks)))
    drift = found.of(streamed.events)
    for line in lines(drift, stack):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    file.write_text(markdown(drift, stack))
    return DRIFTED if drift.drifted else 0


def lines(drift: DriftReport, stack: str) -> list[str]:
    """The report for the terminal."""
    return [*map(str, drift.drifted), *_conclusion(drift, stack)]


def markdown(drift: DriftReport, stack: str) -> str:
    """The report as Markdown."""
    blocks = [f"# Drift of stack `{stack}`", *([md.bullets(map(str, drift.drifted))] if drift.drifted else [])]
    return "\n\n".join([*blocks, *_conclusion(drift, stack)]) + "\n"


def _conclusion(drift: DriftReport, stack: str) -> list[str]:
    count = len(drift.drifted)
    what = f"{counted(count, 'resource')} {'differs' if count == 1 else 'differ'}"
    said = [f"{what} from the deployed state; to repair: {advice.repair(stack)}" if count else "No drift."]
    if drift.undeployed:
        newer = counted(drift.undeployed, "resource")
        said.append(f"The settings are newer than the deployed state ({newer}): {_preview(stack)}")
    return said


def _used(streamed: list[events.Event]) -> set[str]:
    steps = (event.get("resourcePreEvent") for event in streamed)
    return {step["metadata"]["type"].partition(":")[0] for step in steps if step}


def _up(stack: str) -> str:
    return advice.make("up", stack)


def _preview(stack: str) -> str:
    return advice.make("preview", stack)
