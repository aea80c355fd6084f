"""A preview for people: progress and the report here, and the report and a picture as files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from tensorplane.cli.commands.preview import comparison, engine, picture, render, stages
from tensorplane.cli.commands.preview.comparison import Comparison
from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.cli.commands.preview.events import Event
from tensorplane.cli.commands.preview.report import Report
from tensorplane.core.errors import UserError
from tensorplane.driver.update.policy_pack import Policies


def run(stack: str, context: str, base: str, file: Path, console: Console, policies: Policies) -> int:
    """Previews, prints the table, writes the Markdown to `file`. Returns 0 if an update may proceed, else 1.

    The picture is beside it, with the ending `.svg`, and that of pipelines that change, with `-pipelines.svg`. `base`:
    the revision to compare with if there is no deployed state; empty for a comparison with nothing.
    """
    try:
        found = _previewed(stack, context, base, console, policies)
    except UserError as error:
        # What the report says is what a reviewer sees: it must not be that of an earlier preview.
        _write(file, render.markdown(Report(stack, errors=tuple(error.lines), failed=True)))
        raise
    of_stack, of_stages = file.with_suffix(".svg"), file.with_name(f"{file.stem}-pipelines.svg")
    beside = {of_stack: picture.svg(found), of_stages: stages.svg(found)}
    drawn = [path for path, text in beside.items() if text]
    for path in drawn:
        _write(path, beside[path])
    found = replace(
        found,
        picture=of_stack.name if of_stack in drawn else "",
        pipelines=of_stages.name if of_stages in drawn else "",
    )
    console.print(render.terminal(found, console.width))
    _write(file, render.markdown(found))
    also = f", picture{'s' if len(drawn) > 1 else ''}: {', '.join(map(str, drawn))}"
    console.print(f"Report: {file}" + (also if drawn else ""), style="dim", highlight=False)
    return 1 if found.must_not_run else 0


def _previewed(stack: str, context: str, base: str, console: Console, policies: Policies) -> Report:
    urns: set[str] = set()
    with _opened(stack, context, base, policies) as preview, console.status(f"previewing {stack}") as status:

        def watch(event: Event) -> None:
            if step := event.get("resourcePreEvent"):
                urns.add(step["metadata"]["urn"])
                status.update(f"previewing {stack}: {len(urns)} resources")

        return preview.run(watch)


@contextmanager
def _opened(stack: str, context: str, base: str, policies: Policies) -> Iterator[Preview | Comparison]:
    compared = comparison.opened(stack, context, base, policies) if base else engine.opened(stack, context, policies)
    with compared as preview:
        yield preview


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}; choose another path with --report") from None
