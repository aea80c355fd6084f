"""When and where the pods of a run ran, for its lineage: their launchers note it beside the run's checkpoints.

A pod of a job without checkpoints knows of itself alone. Times are those of the pods' nodes. It only requires the
standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tensorplane import declared_lineage, machine
from tensorplane.checkpoints.run_folder import RUN
from tensorplane.version import __version__

STARTED = "TENSORPLANE_STARTED"
"""Variable of the job's command with the time at which its pod started it."""
KILLED, STOPPED = "killed", "stopped"
"""How a pod ended besides `exit CODE`: without a word, or because it was asked to."""


def text(seconds: float) -> str:
    """A time, in seconds since 1970, as lineage has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def since(began: float, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """This machine, with the times `from` when something began and `to` now."""
    return {**_here(environment), "from": text(began), "to": text(time.time())}


@dataclass(frozen=True)
class Start:
    """One start of a pod. Times are in seconds since 1970."""

    pod: str
    """Its name in the run, such as worker-0-1."""
    began: float
    machine: Mapping[str, Any]
    """What `machine.current` says, and the version of the `library`."""
    ended: float | None = None
    """None if it still runs, or was killed."""
    how: str = ""
    """How it ended: `exit 1`, `stopped`."""


@dataclass(frozen=True)
class Noted:
    """A start of this pod, which its launcher notes."""

    began: float = field(default_factory=time.time)

    def begin(self) -> None:
        """Notes when and where the pod started."""
        os.environ[STARTED] = str(self.began)
        self._write({"began": self.began, "machine": _here(os.environ)})

    def end(self, code: int, *, stopped: bool) -> None:
        """Notes how the command ended. `stopped`: because the pod was asked to."""
        self._write({"began": self.began, "ended": time.time(), "how": STOPPED if stopped else f"exit {code}"})

    def _write(self, facts: Mapping[str, Any]) -> None:
        if run := os.environ.get(RUN):
            # Without the note, the run goes on; its lineage does not know of this start.
            with contextlib.suppress(OSError):
                file = _folder(Path(run)) / os.uname().nodename
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a") as lines:
                    lines.write(json.dumps(facts) + "\n")


def of_run(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What the lineage of a version that this process publishes now says: `started`, `machines` and `restarts`.

    Of a process without a launcher, such as a notebook, only the machine is known.
    """
    run, own = environment.get(RUN), _pod(os.uname().nodename, environment)
    starts = list(_noted(Path(run), environment)) if run else []
    if STARTED in environment and not any(each.pod == own for each in starts):
        starts.append(Start(own, float(environment[STARTED]), _here(environment)))
    if not starts:
        return {"machines": [_here(environment)]}
    return {
        "started": text(min(each.began for each in starts)),
        "machines": machines(starts),
        "restarts": restarts(starts, own),
    }


def machines(starts: Iterable[Start]) -> list[dict[str, Any]]:
    """The machines of these starts, each with its `pods`, and the times `from` and `to` which they ran there.

    A machine on which pods ran several times with a pause has an entry for each time. `to` is missing while they run.
    """
    found: list[dict[str, Any]] = []
    of: list[list[Start]] = []
    for start in sorted(_with_ends(starts), key=lambda each: each.began):
        together = next((each for each in of if _goes_on(each, start)), None)
        if together is None:
            of.append([start])
        else:
            together.append(start)
    for several in of:
        ends = [each.ended for each in several]
        entry = {**several[0].machine, "pods": sorted({each.pod for each in several}), "from": text(several[0].began)}
        found.append(entry if None in ends else {**entry, "to": text(max(end for end in ends if end is not None))})
    return found


def _goes_on(several: list[Start], start: Start) -> bool:
    """Whether these starts run on the machine of another one when that begins."""
    runs = any(each.ended is None or start.began <= each.ended for each in several)
    return runs and several[0].machine == start.machine


def _with_ends(starts: Iterable[Start]) -> Iterator[Start]:
    """The starts, of which those that were killed have ended when their pod started again, at the latest."""
    by_pod: dict[str, list[Start]] = {}
    for each in sorted(starts, key=lambda each: each.began):
        by_pod.setdefault(each.pod, []).append(each)
    for several in by_pod.values():
        for index, start in enumerate(several):
            is_last = index == len(several) - 1
            yield start if start.ended or is_last else replace(start, ended=several[index + 1].began, how=KILLED)


def restarts(starts: Iterable[Start], pod: str) -> list[dict[str, str]]:
    """The times at which a pod started again, each with the reason: the `pod` that failed first or was killed, and
    `after`, how. All were `stopped` where no pod is named.
    """
    known = sorted(_with_ends(starts), key=lambda each: each.ended or each.began)
    times = sorted(each.began for each in known if each.pod == pod)[1:]
    failed: dict[float, Start] = {}
    killed: dict[float, Start] = {}
    for each in known:
        if each.ended is None or not times:
            continue
        if each.how == KILLED:  # its end is a start of the same gang
            killed.setdefault(min(times, key=lambda at: abs(at - float(each.ended or 0))), each)
        elif each.how not in (STOPPED, "exit 0"):
            failed.setdefault(next((at for at in times if at >= each.ended), 0), each)
    causes = {**killed, **failed}
    return [{"time": text(at), **_cause(causes.get(at))} for at in times]


def _cause(start: Start | None) -> dict[str, str]:
    return {"pod": start.pod, "after": start.how} if start else {"after": STOPPED}


def _noted(run: Path, environment: Mapping[str, str]) -> Iterator[Start]:
    """The starts of all pods of the run."""
    for file in sorted(_folder(run).glob("*")):
        starts: dict[float, dict[str, Any]] = {}
        for line in file.read_text().splitlines():
            with contextlib.suppress(ValueError, TypeError, KeyError):  # of a pod that was killed while it wrote
                each = json.loads(line)
                starts.setdefault(each["began"], {}).update(each)
        for began, each in starts.items():
            if "machine" in each:
                pod = _pod(file.name, environment)
                yield Start(pod, began, each["machine"], each.get("ended"), each.get("how", ""))


def _pod(host: str, environment: Mapping[str, str]) -> str:
    """A pod's name in its run: its host's name without that of the JobSet."""
    job_set = Path(environment.get(RUN, "")).name or declared_lineage.read(environment).get("run")
    return host.removeprefix(f"{job_set}-")


def _here(environment: Mapping[str, str]) -> dict[str, Any]:
    return {**machine.current(environment), "library": __version__}


def _folder(run: Path) -> Path:
    """The notes of a run. Not in the folder of its checkpoints, which is its writer's."""
    return run.with_name(f".{run.name}.pods")
