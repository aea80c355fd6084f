"""Runs a job's command, and runs it again once if it fails early: the same failure twice makes restarts pointless.

A failure that comes back at the same step of the run after restarts ends the job the third time.

Before, it checks that TensorFlow sees the pod's GPUs, because TensorFlow silently falls back to CPUs. In the pod that
writes checkpoints, it first becomes the run's only writer; a finished run is not run again. The command starts in a
copy of the mounted files that can be written, because programs save into their working directory. It finds its peers
at the ports of this start of the gang (`gang_ports.py`). What it prints is copied to the volume of the checkpoints. In
the job's first pod, the success of the command is followed by what `on_success.py` describes.

It starts the command in its container, so it only requires the standard library of any Python 3.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TextIO

# It is started by its path and isolated from the command's modules, so it adds its own package first, before one that
# is installed in the image. Files of a ConfigMap are symbolic links to another folder, hence no `resolve`.
_LIBRARY = str(Path(__file__).absolute().parents[1])
sys.path.insert(0, _LIBRARY)

from tensorplane import (  # noqa: E402
    gang_ports,
    gpus,
    lineage,
    on_success,
    pod_history,
    progress_deadline,
    step_record,
    termination_message,
)
from tensorplane.checkpoints.run_folder import RUN, RunFolder, TakenOver, is_ours  # noqa: E402
from tensorplane.job_files import enter_copy  # noqa: E402
from tensorplane.model_versions import fence_former, is_superseded  # noqa: E402
from tensorplane.on_success import OnSuccess  # noqa: E402
from tensorplane.outcome import BEFORE_FIRST_STEP, MOST_FAILURES, SOON_AFTER_START, Failure, Failures, Outcome, Reason  # noqa: E402
from tensorplane.run_deadline import RunDeadline  # noqa: E402
from tensorplane.stop import EXIT_SAVED  # noqa: E402
from tensorplane.version import __version__  # noqa: E402
from tensorplane.volume_log import SUCCEEDED, VolumeLog  # noqa: E402

EXIT_NOT_RETRIED = 78
"""Exit code if restarts would not help: EX_CONFIG of sysexits.h."""
WRITES = "TENSORPLANE_WRITES"
"""Variable that is set in the role whose first pod writes the checkpoints."""
INDEX = "JOB_COMPLETION_INDEX"
"""Variable with the pod's index in its role, set by Kubernetes."""
_UNKNOWN_SECONDS = 120
"""Without the library, the first step is unknown: failures in this time count as before it."""
MALLOC = {"MALLOC_MMAP_THRESHOLD_": 32 << 20, "MALLOC_TRIM_THRESHOLD_": 64 << 20, "MALLOC_TOP_PAD_": 16 << 20}
"""Settings of glibc's malloc for the command, unless it has its own.

By default, each step of TensorFlow returns memory to the kernel and gets it back, zeroed and charged to the pod's
cgroup: 70 page faults in a step of 2.5 ms of the digits, and none with these. The thresholds are those up to which
glibc raises them by itself.
"""
_NO_PROGRAM = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR)
_PAUSE_SECONDS = 5
_RELAY_SECONDS = 2
_ANSWER_SECONDS = 10
"""Time in which a command without progress prints its stacks."""
_TAIL_BYTES = 65536
"""What is kept of standard error: a traceback, and what TensorFlow logs after it."""


class _Launcher:
    """Runs commands one after the other, and forwards signals to the one that runs."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._steps: Path | None = None
        """Where the job's command records its steps."""
        self._volume_log = VolumeLog.of_pod()
        self.stopped = False
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(name, self._pass_on)

    def _pass_on(self, number: int, _: object) -> None:
        asked = number in (signal.SIGTERM, signal.SIGINT)
        self.stopped = self.stopped or asked
        if self._child:
            self._child.send_signal(number)
            if asked and self._steps and step_record.read(self._steps) == step_record.CONNECTING:
                self._child.kill()  # it could not answer before its peers do, and nothing is lost

    def end(self, number: int) -> None:
        """Ends the command that runs, as if the pod was asked to stop."""
        self.stopped = True
        if self._child:
            self._child.send_signal(number)

    def run(self, command: Sequence[str], steps: Path) -> Outcome:
        """Runs the job's command, unless TensorFlow sees too few GPUs or the pod was asked to stop before."""
        try:
            return self._without_gpus(command[0]) or self._run(command, steps)
        except OSError as error:
            if error.errno not in _NO_PROGRAM:
                raise
            line = f"command: {command[0]} cannot be started in this image ({error.strerror}); correct command or image"
            _say(line)
            return Outcome(EXIT_NOT_RETRIED, Reason(line.encode()), early=BEFORE_FIRST_STEP)

    def execute(self, command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, Reason]:
        """Runs a command to its end. Returns its exit code and why it failed."""
        return self._to_its_end(self._start(command, environment))

    def say(self, line: str) -> None:
        """Prints a line, which is kept as those of the command are."""
        _say(line)
        self._volume_log.write(f"tensorplane: {line}\n".encode())

    def _to_its_end(self, child: subprocess.Popen[bytes]) -> tuple[int, Reason]:
        tail = bytearray()
        relays = [
            threading.Thread(target=self._relay, args=(child.stdout, sys.stdout, bytearray()), daemon=True),
            threading.Thread(target=self._relay, args=(child.stderr, sys.stderr, tail), daemon=True),
        ]
        for relay in relays:
            relay.start()
        code = child.wait()
        for relay in relays:
            # A process that outlives the command may hold its output open.
            relay.join(_RELAY_SECONDS)
        return code if code >= 0 else 128 - code, Reason.of(bytes(tail))

    def _start(self, command: Sequence[str], environment: Mapping[str, str], **options: Any) -> subprocess.Popen[bytes]:
        """Starts a command, whose output the caller reads. A signal that came before it could be forwarded ends it."""
        pipe = subprocess.PIPE
        child = self._child = subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment, bufsize=0, **options)
        if self.stopped:
            child.terminate()
        return child

    def _without_gpus(self, python: str) -> Outcome | None:
        """How the pod ends if TensorFlow sees fewer GPUs than it requests; None if it sees all."""
        if gpus.VARIABLE not in os.environ:
            return None
        path = os.pathsep.join(filter(None, (_LIBRARY, os.environ.get("PYTHONPATH"))))
        # Not in the directory of the job's files, which may shadow modules of the standard library.
        child = self._start([python, "-m", "tensorplane.gpus"], {**os.environ, "PYTHONPATH": path}, cwd="/")
        line, errors = child.communicate()
        if self.stopped:
            return Outcome(EXIT_SAVED, Reason(), early=BEFORE_FIRST_STEP)
        if child.returncode != gpus.EXIT_FEWER:
            return None
        # TensorFlow's errors name the missing libraries.
        sys.stderr.buffer.write(errors[-_TAIL_BYTES:] + line)
        sys.stderr.buffer.flush()
        return Outcome(gpus.EXIT_FEWER, Reason(line.strip()), early=BEFORE_FIRST_STEP)

    def close(self, *, succeeded: bool) -> None:
        """Completes what is kept of the command's lines. `succeeded`: whether the run has, in the pod that says so."""
        if succeeded:
            self._volume_log.write(SUCCEEDED)
        self._volume_log.close()

    def _relay(self, stream: IO[bytes], to: TextIO, tail: bytearray) -> None:
        """Passes on what the command prints, and keeps it; `tail`: its end."""
        while chunk := stream.read(65536):
            to.buffer.write(chunk)
            to.buffer.flush()
            self._volume_log.write(chunk)
            tail += chunk
            del tail[:-_TAIL_BYTES]

    def _run(self, command: Sequence[str], steps: Path) -> Outcome:
        steps.unlink(missing_ok=True)
        self._steps = steps
        began = time.monotonic()
        malloc = {name: str(size) for name, size in MALLOC.items()}
        debugging = progress_deadline.environment()
        child = self._start(command, {**malloc, **debugging, **os.environ, step_record.VARIABLE: str(steps)})
        watch = progress_deadline.Watch.of_pod(steps, child, self.say, _ANSWER_SECONDS)
        code, reason = self._to_its_end(child)
        self._steps = None
        if watch and (stalled := watch.ended(code)):
            return stalled
        progress = step_record.read(steps)
        if progress == step_record.CONNECTING:
            if self.stopped and code == 128 + signal.SIGKILL:
                return Outcome(EXIT_SAVED, Reason(), early=BEFORE_FIRST_STEP)
            progress = ""
        early = BEFORE_FIRST_STEP if progress == step_record.EXPECTED else ""
        if not progress and time.monotonic() - began < _UNKNOWN_SECONDS:
            early = SOON_AFTER_START
        return Outcome(code, reason, early, step_record.number(progress))


def main(arguments: Sequence[str], steps: Path) -> int:
    """The exit code of the run: 0 if it has already finished, else the command's, or EXIT_NOT_RETRIED."""
    with_ports = gang_ports.port_shift(os.environ)
    os.environ.update({name: with_ports(value) for name, value in os.environ.items()})
    arguments = [with_ports(each) for each in arguments]
    launcher = _Launcher()
    succeeded = False
    try:
        code = _code(launcher, arguments, steps)
        succeeded = code == 0 and WRITES in os.environ and os.environ.get(INDEX, "0") == "0"
    finally:
        launcher.close(succeeded=succeeded)
    return code


def _code(launcher: _Launcher, arguments: Sequence[str], steps: Path) -> int:
    then, command = on_success.split(arguments)
    is_first = os.environ.get(INDEX, "0") == "0"
    if RUN not in os.environ:
        code = _launched(launcher, command, steps).code
        return code or (_done(launcher, then) if is_first else 0)
    run = RunFolder(Path(os.environ[RUN]))
    finished = run.finished and not _is_back()
    if finished and not (is_first and then and run.done_after != then.identity):
        print(f"tensorplane: run {Path(os.environ[RUN]).name} has finished; nothing to do", flush=True)
        return 0
    if WRITES not in os.environ or not is_first:
        return _counted(_launched(launcher, command, steps), Path(os.environ[RUN]))
    try:
        folder = run.take_over(__version__)
        os.environ["CHECKPOINT_DIR"] = str(folder)
        _bar_former_gangs(then)
        if not finished:
            deadline = RunDeadline.of(run, folder)
            if code := _in_time(launcher, deadline, lambda: _counted(_launched(launcher, command, steps), folder)):
                return code if is_ours() else EXIT_SAVED
            run.finish(folder)
        code = _done(launcher, then)
        if then and code == 0:
            run.finish_after(folder, then.identity)
    except TakenOver as reason:
        print(f"tensorplane: {reason}", file=sys.stderr, flush=True)
        return EXIT_SAVED
    return code


def _bar_former_gangs(then: OnSuccess | None) -> None:
    """Keeps what a gang before this one has not published yet from being published, as far as the settings say where.

    Raises TakenOver if another gang has started meanwhile.
    """
    if publisher := lineage.run():
        model, elsewhere = os.environ.get("MODEL_DIR"), then.publish_to if then else None
        for base in ([Path(model)] if model else []) + ([elsewhere] if elsewhere else []):
            fence_former(base, publisher, is_ours=is_ours)


def _in_time(launcher: _Launcher, deadline: RunDeadline | None, launched: Callable[[], int]) -> int:
    """The exit code of the command; EXIT_NOT_RETRIED if the run's deadline ended it, or has passed before."""
    if deadline is None:
        return launched()
    if not deadline.passed:
        done = deadline.watch(launcher.end)
        code = launched()
        done.set()
        if code == 0 or not deadline.passed:
            return code
    _say(f"{deadline.reason}; it is not started again")
    return EXIT_NOT_RETRIED


def _done(launcher: _Launcher, then: OnSuccess | None) -> int:
    """Does what follows the command's success. EXIT_NOT_RETRIED if that fails: a restart may train again."""
    if then is None:
        return 0
    fault = ""
    for _ in range(on_success.MOST_TRIES):
        if fault:
            _say(f"onSuccess: {fault}; running it again, in case the error was temporary")
            time.sleep(_PAUSE_SECONDS)
        if launcher.stopped:
            return EXIT_SAVED
        if not (fault := _fault(launcher, then)):
            return 0
    if launcher.stopped:
        return EXIT_SAVED
    _say(f"the command has succeeded, but onSuccess failed {on_success.MOST_TRIES} times: {fault}")
    return EXIT_NOT_RETRIED


def _fault(launcher: _Launcher, then: OnSuccess) -> str:
    """Does it once. Returns why it failed; empty if it did not."""
    try:
        if then.command:
            code, reason = launcher.execute(then.command, then.environment())
            if code:
                return f"exit code {code}: {reason.line.decode(errors='replace')}"
        if then.publish_to:
            _say(f"published={then.publish_to}/{then.publish()}", sys.stdout)
    except (OSError, ValueError) as error:
        # The exception of Python, whose name says what is wrong; the library's own is one of it.
        name = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
        return f"{name}: {error}"
    return ""


def _say(what: str, stream: TextIO = sys.stderr) -> None:
    print(f"tensorplane: {what}", file=stream, flush=True)


def _is_back() -> bool:
    """Whether the settings returned to this run after another one, so that its model must become the newest again."""
    model = os.environ.get("MODEL_DIR")
    return model is not None and is_superseded(Path(model), run=Path(os.environ[RUN]).name)


def _counted(ended: Outcome, folder: Path) -> int:
    """The exit code; EXIT_NOT_RETRIED if the run has failed in this way at this step before, and before that.

    `folder`: the run's, where this pod writes.
    """
    failures = Failures(folder, os.uname().nodename)
    if ended.code == 0:
        failures.forget()
    if ended.step is None or not ended.may_be_poison:
        return ended.code
    times = failures.count(Failure.of(ended.code, ended.reason.line, ended.step))
    if times < MOST_FAILURES:
        return ended.code
    print(
        f"tensorplane: after step {ended.step} it failed {times} times in a row with the same last line; "
        f"restarts would not help: {ended.reason.line.decode(errors='replace')}",
        file=sys.stderr,
        flush=True,
    )
    return EXIT_NOT_RETRIED


def _launched(launcher: _Launcher, command: Sequence[str], steps: Path) -> Outcome:
    """How the command ended, which is noted for the run's lineage."""
    noted = pod_history.Noted()
    noted.begin()
    ended = _tried(launcher, command, steps)
    noted.end(ended.code, stopped=launcher.stopped)
    return ended


def _tried(launcher: _Launcher, command: Sequence[str], steps: Path) -> Outcome:
    """How the command ended; with EXIT_NOT_RETRIED if it failed early twice in the same way."""
    first = launcher.run(command, steps)
    if not first.may_repeat or launcher.stopped:
        return first.stopped if launcher.stopped else first
    print(
        f"tensorplane: exit code {first.code} {first.early}; running it again, in case the error was temporary",
        file=sys.stderr,
        flush=True,
    )
    time.sleep(_PAUSE_SECONDS)
    if launcher.stopped:
        return first.stopped
    second = launcher.run(command, steps)
    if launcher.stopped:
        return second.stopped
    return replace(second, code=EXIT_NOT_RETRIED) if second.is_like(first) else second


def _leave() -> None:
    """Leaves what the job has published in the first pod's status."""
    if "MODEL_DIR" in os.environ and os.environ.get(INDEX, "0") == "0":
        termination_message.write(Path(os.environ["MODEL_DIR"]), lineage.run())


if __name__ == "__main__":
    enter_copy()
    # Of this process: outside pods, several launchers may run at once.
    steps = Path(f"/tmp/.tensorplane-steps-{os.getpid()}")  # noqa: S108
    try:
        code = main(sys.argv[1:], steps)
    finally:
        steps.unlink(missing_ok=True)
    if code == 0:
        _leave()
    sys.exit(code)
