"""What stands in front of a job's command: one that fails twice in the same way before its first step is told apart."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runtime import launch
from tests.unit.rendering import PROJECT
from workloads import job_set

_LAUNCH = PROJECT / "runtime" / "launch.py"


def _run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """The launcher on a program of the test's, without its pause."""
    script = folder / "train.py"
    script.write_text(program)
    code = (
        f"import sys; sys.path.insert(0, {str(PROJECT)!r}); from pathlib import Path; from runtime import launch;"
        f"launch._PAUSE_SECONDS = 0; sys.exit(launch.main(sys.argv[1:], Path({str(folder / 'steps')!r})))"
    )
    argv = [sys.executable, "-c", code, sys.executable, str(script)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60)


_COUNTS = "from pathlib import Path\nhere = Path(__file__).parent / 'runs'\nwith here.open('a') as f: f.write('x')\n"


def _runs(folder: Path) -> int:
    return len((folder / "runs").read_text())


@pytest.mark.parametrize(
    ("program", "last"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("raise ValueError('boom')", "ValueError: boom"),
        ("import nothing_like_it", "ModuleNotFoundError"),
        ("import sys; sys.exit('no data')", "no data"),
    ],
)
def test_the_same_failure_twice_ends_it(tmp_path: Path, program: str, last: str) -> None:
    done = _run(tmp_path, program)
    assert done.returncode == launch.EXIT_SAME
    assert last in done.stderr.splitlines()[-1], "what Kubernetes keeps of the log ends with the reason"


def test_a_script_that_is_missing_ends_it(tmp_path: Path) -> None:
    argv = [sys.executable, "-I", str(_LAUNCH), sys.executable, str(tmp_path / "nothing.py")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == launch.EXIT_SAME
    assert "can't open file" in done.stderr.splitlines()[-1]


def test_two_different_failures_are_left_to_restarts(tmp_path: Path) -> None:
    done = _run(tmp_path, _COUNTS + "raise ValueError(len(here.read_text()))")
    assert (done.returncode, _runs(tmp_path)) == (1, 2)


def test_a_second_try_that_works_is_a_success(tmp_path: Path) -> None:
    done = _run(tmp_path, _COUNTS + "if _ := len(here.read_text()) < 2: raise ValueError('once')")
    assert (done.returncode, _runs(tmp_path)) == (0, 2)


_LIBRARY = f"import sys\nsys.path.insert(0, {str(PROJECT)!r})\nfrom runtime import first_step\n"


def test_a_failure_after_the_first_step_is_left_to_restarts(tmp_path: Path) -> None:
    done = _run(tmp_path, _COUNTS + _LIBRARY + "first_step.expected(); first_step.done(); raise ValueError('boom')")
    assert (done.returncode, _runs(tmp_path)) == (1, 1)


def test_with_the_library_a_slow_start_is_still_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_UNKNOWN_SECONDS", 0)
    monkeypatch.setattr(launch, "_PAUSE_SECONDS", 0)
    script = tmp_path / "train.py"
    for program, code in (("first_step.expected(); ", launch.EXIT_SAME), ("", 1)):
        script.write_text(_LIBRARY + program + "raise ValueError('boom')")
        assert launch.main([sys.executable, str(script)], tmp_path / "steps") == code


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("raise RuntimeError('UNAVAILABLE: connection to peer lost')", 1),
        ("raise OSError(5, 'Input/output error')", 1),
        ("import sys; sys.exit(75)", 75),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
        ("import os; os._exit(3)", 3),
        ("pass", 0),
    ],
)
def test_what_may_pass_and_what_is_no_failure_of_the_code_ends_as_ever(tmp_path: Path, program: str, code: int) -> None:
    done = _run(tmp_path, _COUNTS + program)
    assert (done.returncode, _runs(tmp_path)) == (code, 1)


def test_the_command_is_asked_to_stop_and_its_end_counts(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(75))\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    (tmp_path / "train.py").write_text(program)
    argv = [sys.executable, "-I", str(_LAUNCH), sys.executable, str(tmp_path / "train.py")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "ready\n"
        began = time.monotonic()
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 75
        assert time.monotonic() - began < 10


def test_all_that_the_command_says_comes_through(tmp_path: Path) -> None:
    done = _run(tmp_path, "import os, sys\nos.write(2, b'a' * 100000 + b'\\nend')\nprint('out')")
    assert done.stdout == "out\n"
    assert done.stderr == "a" * 100000 + "\nend"


def test_the_jobs_policy_knows_the_code() -> None:
    assert launch.EXIT_SAME == job_set.EXIT_SAME
