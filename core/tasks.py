"""Runs tasks in parallel, as far as their order allows, and programs; the first failure stops all."""

from __future__ import annotations

import io
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tensorplane.core.causes import cause
from tensorplane.core.children import GRACE_SECONDS, Children, Stopped
from tensorplane.core.errors import UserError
from tensorplane.core.paths import cache
from tensorplane.core.progress import Progress
from tensorplane.core.step import Step

_LOG_LIMIT = 8 << 20
_TAIL_LINES = 40
_SHOWN_LINES = 6
_children = Children()


@dataclass(frozen=True)
class Task:
    """A task. `after` names tasks that must finish first; a name that is not in the run counts as finished."""

    name: str
    run: Callable[[Step], None]
    after: tuple[str, ...] = ()


@dataclass
class _Run:
    """The shared state of one run's threads, guarded by the condition."""

    waiting: dict[str, Task]
    progress: Progress
    changed: threading.Condition = field(default_factory=threading.Condition)
    running: set[str] = field(default_factory=set)
    failure: BaseException | None = None

    def ready(self) -> list[Task]:
        unfinished = self.waiting.keys() | self.running
        return [task for task in self.waiting.values() if not unfinished.intersection(task.after)]

    def work(self, task: Task) -> None:
        failure: BaseException | None = None
        try:
            with self.progress.step(task.name) as step:
                task.run(step)
        except BaseException as error:
            failure = error
        with self.changed:
            self.running.discard(task.name)
            # Tasks that fail after the first failure were stopped because of it.
            if failure and not self.failure:
                self.failure = failure
                _children.stop()
            self.changed.notify_all()


def run_all(tasks: Iterable[Task], progress: Progress) -> None:
    """Runs every task in its own thread. The first failure ends the running programs and is raised again."""
    tasks = list(tasks)
    _refuse_circles(tasks)
    run = _Run({task.name: task for task in tasks}, progress)
    progress.plan(run.waiting)
    try:
        _drive(run)
    except KeyboardInterrupt:
        _children.stop()
        _wait(run, 2 * GRACE_SECONDS)
        raise
    finally:
        progress.forget()
        _children.reset()
    if run.failure:
        raise run.failure


def _drive(run: _Run) -> None:
    with run.changed:
        while run.running or (run.waiting and not run.failure):
            for task in run.ready() if not run.failure else ():
                del run.waiting[task.name]
                run.running.add(task.name)
                # A daemon, so that a second Ctrl-C ends the process at once.
                threading.Thread(target=run.work, args=(task,), name=task.name, daemon=True).start()
            run.changed.wait(0.5)


def _wait(run: _Run, seconds: float) -> None:
    with run.changed:
        run.changed.wait_for(lambda: not run.running, seconds)


def _refuse_circles(tasks: list[Task]) -> None:
    left = {task.name: set(task.after) for task in tasks}
    if len(left) < len(tasks):
        raise ValueError("two tasks have the same name")
    while free := [name for name, after in left.items() if not after & left.keys()]:
        for name in free:
            del left[name]
    if left:
        raise ValueError(f"tasks wait for each other: {', '.join(sorted(left))}")


def raise_if_stopping() -> None:
    """Raises Stopped while the run is stopping: for long work of this process itself, which has no program to end."""
    if _children.stopping:
        raise Stopped("ended because the run is stopping")


def command(
    argv: Sequence[str | Path],
    *,
    step: Step | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    log: Path | None = None,
    watch: Callable[[str], None] | None = None,
    timeout: float | None = None,
) -> str:
    """Runs a program to its end and returns its standard output. Not for programs that stay in the background.

    `env` is added to this process's environment. Each line of output goes to the log, and to `watch` or else the step's
    note. A failure, or exceeding `timeout` seconds, is a UserError with the last lines and the log's path.
    """
    words = [str(word) for word in argv]
    log = log or cache() / "logs" / f"{_slug(step.name if step else Path(words[0]).name)}.log"
    child = _children.start(words, env, cwd)
    tail = _Tail()
    listener = watch or (step.note if step else None)
    deadline = _Deadline(child, timeout)
    try:
        with deadline, _open_log(log) as sink:
            output = _listen(child, _Sink(sink, tail, words, listener))
            code = child.wait()
    except BaseException:
        _children.end(child)
        raise
    _children.done(child)
    if deadline.passed:
        tail.errors.append(f"no end after {timeout:.0f} s")
    if code and _children.stopping:
        raise Stopped(f"{Path(words[0]).name}: ended because the run is stopping")
    if code:
        raise _failure(step.name if step else Path(words[0]).name, words, code, tail.lines(), log)
    return output


class _Deadline:
    """Ends a program that exceeds its timeout."""

    def __init__(self, child: subprocess.Popen[str], seconds: float | None) -> None:
        self.passed = False
        self._child = child
        self._timer = threading.Timer(seconds, self._end) if seconds else None

    def _end(self) -> None:
        self.passed = True
        _children.end(self._child)

    def __enter__(self) -> None:
        if self._timer:
            self._timer.daemon = True
            self._timer.start()

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()


class _Tail:
    """A program's last lines. Standard error comes last, so that other output does not displace the reason."""

    def __init__(self) -> None:
        self.output: deque[str] = deque(maxlen=_TAIL_LINES)
        self.errors: deque[str] = deque(maxlen=_TAIL_LINES)

    def lines(self) -> list[str]:
        return [*self.output, *self.errors]


class _Sink:
    """The destination of one program's lines, from both of its streams."""

    def __init__(self, log: IO[str], tail: _Tail, argv: list[str], listener: Callable[[str], None] | None) -> None:
        self._log, self.tail, self._listener = log, tail, listener
        self._lock = threading.Lock()
        log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} $ {' '.join(argv)}\n")

    def line(self, line: str, last: deque[str]) -> None:
        with self._lock:
            self._log.write(line)
            self._log.flush()
            if line.strip():
                last.append(line.rstrip())
                if self._listener:
                    self._listener(line.strip())


def _listen(child: subprocess.Popen[str], sink: _Sink) -> str:
    aside = threading.Thread(target=_drain, args=(child.stderr, sink, sink.tail.errors), daemon=True)
    aside.start()
    output = _drain(child.stdout, sink, sink.tail.output)
    aside.join()
    return output


def _drain(stream: IO[str] | None, sink: _Sink, last: deque[str]) -> str:
    texts = []
    with stream or io.StringIO() as lines:
        for line in lines:
            texts.append(line)
            sink.line(line, last)
    return "".join(texts)


def _open_log(path: Path) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    grown = path.exists() and path.stat().st_size > _LOG_LIMIT
    return path.open("w" if grown else "a")


def _failure(name: str, argv: list[str], code: int, tail: list[str], log: Path) -> UserError:
    what = f"{Path(argv[0]).name} {argv[1]}" if len(argv) > 1 else Path(argv[0]).name
    how = f"exit {code}" if code > 0 else f"signal {-code}"
    if why := cause(tail):
        return UserError(f"{name}: {what} failed: {why} (log: {log})")
    shown = [f"  {line.strip()[:300]}" for line in tail[-_SHOWN_LINES:]]
    return UserError(f"{name}: {what} failed ({how})", *shown, f"  log: {log}")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
