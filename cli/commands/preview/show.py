"""A preview for people: progress and the report here, and the report as a file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from cli.commands.preview import engine, render
from cli.commands.preview.events import Event
from embedded.fault import Fault


def run(stack: str, context: str, file: Path, console: Console) -> int:
    """Previews, prints the table, writes the Markdown to `file`. Returns 0 if an update may proceed, else 1."""
    seen: set[str] = set()
    with engine.opened(stack, context) as preview, console.status(f"previewing {stack}") as status:

        def watch(event: Event) -> None:
            if step := event.get("resourcePreEvent"):
                seen.add(step["metadata"]["urn"])
                status.update(f"previewing {stack}: {len(seen)} resources")

        found = preview.run(watch)
    console.print(render.terminal(found, console.width))
    try:
        file.write_text(render.markdown(found))
    except OSError as error:
        raise Fault(f"cannot write the report to {file}: {error.strerror}; choose another path with --report") from None
    console.print(f"Report: {file}", style="dim", highlight=False)
    return 1 if found.failed else 0
