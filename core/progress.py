"""Shows the running steps, their times and what is left: a live table on a terminal, timestamped lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from tensorplane.core.step import Step
from tensorplane.core.times import elapsed

HEARTBEAT_SECONDS = 30.0
"""Seconds between two lines of a running step in plain mode, so that a CI log does not look hung."""


class Progress:
    """The steps of one run, and their display."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.durations: dict[str, float] = {}
        """Seconds that each finished step took, by name."""
        self._running: dict[str, Step] = {}
        self._waiting: list[str] = []
        self._lock = threading.Lock()
        self._live: Live | None = None
        self._closed = threading.Event()

    def __enter__(self) -> Progress:
        self._closed.clear()
        if self.console.is_terminal:
            self._live = Live(
                get_renderable=self._table, console=self.console, refresh_per_second=5, transient=True, screen=False
            )
            self._live.start()
        else:
            threading.Thread(target=self._heartbeat, name="progress", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closed.set()
        if self._live:
            self._live.stop()
            self._live = None

    def plan(self, names: Iterable[str]) -> None:
        """Announces later steps, so that the display can show what is left."""
        with self._lock:
            self._waiting.extend(name for name in names if name not in self._waiting)

    def forget(self) -> None:
        """Removes announced steps that will not run."""
        with self._lock:
            self._waiting.clear()

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Shows one step while the block runs, and prints how long it took."""
        step = Step(name, partial(self._print, name))
        with self._lock:
            self._running[name] = step
            if name in self._waiting:
                self._waiting.remove(name)
        if not self._live:
            self._print(name, "started")
        try:
            yield step
        except BaseException:
            self._finish(step, "[red]✗[/red]", "stopped after")
            raise
        self.durations[name] = step.seconds
        self._finish(step, "[green]✓[/green]", "done in")

    def _finish(self, step: Step, mark: str, how: str) -> None:
        with self._lock:
            self._running.pop(step.name, None)
            left = list(dict.fromkeys([*self._running, *self._waiting]))
        took = elapsed(step.seconds)
        if self._live:
            self.console.print(f"{mark} {escape(step.name):<24} [dim]{took}[/dim]")
        else:
            self._print(step.name, f"{how} {took}" + (f"; left: {', '.join(left)}" if left else ""))

    def _print(self, name: str, text: str) -> None:
        line = f"{time.strftime('%H:%M:%S')} {name}: {text}"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _heartbeat(self) -> None:
        while not self._closed.wait(HEARTBEAT_SECONDS):
            with self._lock:
                steps = list(self._running.values())
            for step in steps:
                note, done, total = step.state()
                far = f" ({done:.0f} of {total:.0f})" if total else ""
                self._print(step.name, f"{elapsed(step.seconds)}, {note or 'running'}{far}")

    def _table(self) -> RenderableType:
        with self._lock:
            steps, waiting = list(self._running.values()), list(self._waiting)
        table = Table.grid(padding=(0, 1))
        table.add_column(width=1)
        table.add_column(no_wrap=True, min_width=24)
        table.add_column(justify="right", no_wrap=True, min_width=10)
        table.add_column(width=20)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1, style="dim")
        for step in steps:
            note, done, total = step.state()
            bar: RenderableType = ProgressBar(total=total, completed=done, width=20) if total else Text("")
            table.add_row(_SPINNER, Text(step.name), elapsed(step.seconds), bar, Text(note.replace("\t", " ")))
        if not waiting:
            return table
        return Group(table, Text(f"left: {', '.join(waiting)}", style="dim", no_wrap=True, overflow="ellipsis"))


_SPINNER = Spinner("dots")
