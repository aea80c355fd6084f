"""A step that fails in the same way whenever it is reached ends the job; what a restart may help does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tensorplane import launch
from tensorplane.outcome import MOST_FAILURES, Failure, Failures
from tests.runtime.launcher import WRITES, of_run
from tests.runtime.launching import LIBRARY

_AT_STEP = f"import sys\nsys.path.insert(0, {str(LIBRARY)!r})\nfrom tensorplane import step_record\n"
_BOOM = "raise ValueError(f'bad example in process {__import__(\"os\").getpid()}')"


def _start(folder: Path, step: int, failure: str) -> subprocess.CompletedProcess[str]:
    """One start of a pod whose command reaches a step and then does `failure`."""
    return of_run(folder, f"{_AT_STEP}step_record.done({step})\n{failure}\n", **WRITES)


def test_third_time_in_a_row_ends_the_job_with_the_reason(tmp_path: Path) -> None:
    codes = [_start(tmp_path, 120, _BOOM).returncode for _ in range(2)]
    last = _start(tmp_path, 120, _BOOM)
    assert [*codes, last.returncode] == [1, 1, launch.EXIT_NOT_RETRIED]
    reason = last.stderr.splitlines()[-1]
    assert reason.startswith(
        "tensorplane: after step 120 it failed 3 times in a row with the same last line; restarts would not help: "
        "ValueError: bad example"
    )


def test_what_tensorflow_logs_after_the_traceback_is_not_the_reason(tmp_path: Path) -> None:
    def starts(log: str) -> subprocess.CompletedProcess[str]:
        return _start(tmp_path, 120, f"import atexit, sys\natexit.register(sys.stderr.write, {log!r})\n{_BOOM}")

    logged = [
        "2026-11-26 15:40:01.123456: W tensorflow/core/common_runtime/eager/tensor_handle_data.cc:83] Unable to\n"
        "This could happen if the remote target has been disconnected from the client.\n",
        "",
        "W0000 00:00:1732635601.123456    1234 init.cc:33] something else\n",
    ]
    ended = [starts(each) for each in logged]
    assert [each.returncode for each in ended] == [1, 1, launch.EXIT_NOT_RETRIED]
    assert "restarts would not help: ValueError: bad example" in ended[-1].stderr.splitlines()[-1]


_TWICE = Failure.of(1, b"ValueError: bad example", 120)


@pytest.mark.parametrize(
    "between",
    [Failure.of(1, b"KeyError: other", 120), Failure.of(1, b"ValueError: bad example", 140), None],
    ids=["another failure", "another step", "success"],
)
def test_what_comes_in_between_begins_the_count_again(tmp_path: Path, between: Failure | None) -> None:
    failures = Failures(tmp_path, "digits-1-worker-0-0")
    assert [failures.count(_TWICE) for _ in range(2)] == [1, 2]
    if between:
        assert failures.count(between) == 1
    else:
        failures.forget()
    assert [failures.count(_TWICE) for _ in range(2)] == [1, 2]


def test_a_success_is_one_that_comes_in_between(tmp_path: Path) -> None:
    assert _start(tmp_path, 120, _BOOM).returncode == 1
    assert list((tmp_path / "digits-1").glob("failure-*.json"))
    assert _start(tmp_path, 140, "pass").returncode == 0
    assert not list((tmp_path / "digits-1").glob("failure-*.json"))


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        ("raise RuntimeError('UNAVAILABLE: connection to peer lost')", 1),
        ("sys.exit(75)", 75),
        ("__import__('os').kill(__import__('os').getpid(), 9)", 137),
    ],
)
def test_faults_of_peers_and_nodes_are_never_the_steps(tmp_path: Path, failure: str, code: int) -> None:
    assert [_start(tmp_path, 120, failure).returncode for _ in range(MOST_FAILURES)] == [code] * MOST_FAILURES


def test_crash_of_machine_code_counts(tmp_path: Path) -> None:
    crash = "print('corrupted', file=sys.stderr, flush=True); __import__('os').abort()"
    assert [_start(tmp_path, 7, crash).returncode for _ in range(3)] == [134, 134, launch.EXIT_NOT_RETRIED]


def test_folder_that_cannot_be_written_leaves_failures_to_restarts(tmp_path: Path) -> None:
    failures = Failures(tmp_path / "missing", "digits-1-worker-0-0")
    assert [failures.count(Failure.of(1, b"boom", 5)) for _ in range(4)] == [1, 1, 1, 1]


def test_damaged_record_is_none(tmp_path: Path) -> None:
    failures = Failures(tmp_path, "pod")
    failures.count(Failure.of(1, b"boom", 5))
    (tmp_path / "failure-pod.json").write_text("[")
    assert failures.count(Failure.of(1, b"boom", 5)) == 1


def test_order_in_which_grpc_prints_an_error_makes_no_difference() -> None:
    first = (
        b':UNKNOWN:Error received from peer  {grpc_status:3, grpc_message:"bad [140]"} [Op:__inference__compute_127]'
    )
    other = b':UNKNOWN:Error received from peer  {grpc_message:"bad [130]", grpc_status:3} [Op:__inference__compute_95]'
    assert Failure.of(1, first, 100) == Failure.of(1, other, 100)


def test_operation_identifies_an_error_of_several_servers() -> None:
    alone = b':UNKNOWN:Error received from peer  {grpc_status:5, grpc_message:"/x; No file [[{{node while/Read}}]]"}'
    several = (
        b':UNKNOWN:Error received from peer  {grpc_message:"2 root error(s) found. (0) NOT_FOUND: /x; No such file'
        b' [[{{node while/Read}}]] [[while/body/_1/while/StringToNumber/_16]] (1) NOT_FOUND: /x"}'
    )
    other = alone.replace(b"while/Read", b"while/Write")
    assert Failure.of(1, alone, 100) == Failure.of(1, several, 100) != Failure.of(1, other, 100)
