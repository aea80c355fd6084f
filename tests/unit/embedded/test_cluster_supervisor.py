"""How a crashing component is told from a starting one, and which line of its log is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import supervisor
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.supervisor import CrashWatch, State, Supervisor
from tensorplane.embedded.instance import Instance


class Recorded(Supervisor):
    """Answers what was recorded, one answer per question."""

    def __init__(self, *answers: State) -> None:
        super().__init__(Path("unused"))
        self._answers = list(answers)

    def states(self) -> dict[str, State]:
        answer = self._answers.pop(0)
        return {answer.name: answer}


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodePaths:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    places = NodePaths(Instance("test"))
    places.logs.mkdir(parents=True)
    (places.logs / "etcd.log").write_text("panic: no disk\n\ngoroutine 1 [running]:\n")
    return places


def _up(pid: int) -> State:
    return State("etcd", "RUNNING", 1, pid)


def test_what_supervisord_gave_up_on_is_a_fault(paths: NodePaths) -> None:
    watch = CrashWatch(paths, Recorded(State("etcd", "FATAL", 1, 0)))
    with pytest.raises(UserError, match=r"^etcd keeps crashing: panic: no disk \(log: .*/etcd.log\)$"):
        watch.check()


def test_what_comes_up_again_and_again_is_a_fault(paths: NodePaths) -> None:
    watch = CrashWatch(paths, Recorded(*(_up(pid) for pid in (1, 1, 2, 3, 4))))
    for _ in range(4):
        watch.check()
    with pytest.raises(UserError, match="etcd keeps crashing"):
        watch.check()


def test_one_restart_is_not_a_fault(paths: NodePaths) -> None:
    watch = CrashWatch(paths, Recorded(_up(1), State("etcd", "BACKOFF", 1, 0), *(_up(2) for _ in range(50))))
    for _ in range(52):
        watch.check()


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        ("I1121 started\nE1121 08:22 no such file\nI1121 stopping\n", "E1121 08:22 no such file"),
        ('{"level":"info"}\n{"level":"fatal","msg":"x"}\n{"level":"info"}\n', '{"level":"fatal","msg":"x"}'),
        ("level=warning msg=a\nlevel=error msg=b\n", "level=error msg=b"),
        ("one\ntwo\n\n", "two"),
        ("", "(its log is empty)"),
    ],
)
def test_the_last_error_is_shown_or_else_the_last_line(tmp_path: Path, log: str, shown: str) -> None:
    (tmp_path / "log").write_text(log)
    assert supervisor.last_error(tmp_path / "log") == shown


def test_a_log_that_never_was_is_said_so(tmp_path: Path) -> None:
    assert supervisor.last_error(tmp_path / "absent") == "(no log)"
