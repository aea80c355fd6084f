"""When and where pods ran: grouped by machine, with the reasons of restarts, and noted by the launcher."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane import lineage, machine, pod_history
from tensorplane.pod_history import Start
from tests.runtime import launcher

_A, _B = {"node": "a", "kernel": "6.1"}, {"node": "b", "kernel": "6.1"}


def _at(seconds: float) -> str:
    return pod_history.text(seconds)


def test_machines_have_their_pods_and_times() -> None:
    starts = [
        Start("worker-0-0", 10, _A, 100, "exit 0"),
        Start("worker-0-1", 12, _A, 90, "exit 0"),
        Start("worker-0-2", 11, _B, 95, "exit 0"),
    ]
    assert pod_history.machines(starts) == [
        {**_A, "pods": ["worker-0-0", "worker-0-1"], "from": _at(10), "to": _at(100)},
        {**_B, "pods": ["worker-0-2"], "from": _at(11), "to": _at(95)},
    ]


def test_a_pause_and_another_driver_make_another_entry() -> None:
    newer = {**_A, "kernel": "6.12"}
    starts = [
        Start("worker-0-0", 10, _A, 20, "stopped"),
        Start("worker-0-0", 50, _A, 60, "stopped"),
        Start("worker-0-0", 70, newer),
    ]
    found = [(each["kernel"], each["from"], each.get("to")) for each in pod_history.machines(starts)]
    assert found == [("6.1", _at(10), _at(20)), ("6.1", _at(50), _at(60)), ("6.12", _at(70), None)]


def test_a_killed_pod_ran_until_it_started_again_at_the_latest() -> None:
    starts = [Start("worker-0-0", 10, _A), Start("worker-0-0", 50, _B, 60, "exit 0")]
    assert [(each["node"], each["to"]) for each in pod_history.machines(starts)] == [("a", _at(50)), ("b", _at(60))]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], {"after": "stopped"}),
        (
            [Start("worker-0-1", 12, _A, 40, "exit 1"), Start("worker-0-1", 52, _A)],
            {"pod": "worker-0-1", "after": "exit 1"},
        ),
        ([Start("worker-0-1", 9, _A), Start("worker-0-1", 49, _A)], {"pod": "worker-0-1", "after": "killed"}),
        ([Start("worker-0-1", 9, _A), Start("worker-0-1", 51, _A)], {"pod": "worker-0-1", "after": "killed"}),
        ([Start("worker-0-1", 9, _A, 41, "stopped"), Start("worker-0-1", 51, _A)], {"after": "stopped"}),
        # What fails soon after the restart is not its reason.
        ([Start("worker-0-1", 9, _A, 41, "stopped"), Start("worker-0-1", 51, _A, 53, "exit 1")], {"after": "stopped"}),
    ],
)
def test_a_restart_has_its_reason(others: list[Start], expected: dict[str, str]) -> None:
    own = [Start("worker-0-0", 10, _A, 41, "stopped"), Start("worker-0-0", 50, _A)]
    assert pod_history.restarts([*own, *others], "worker-0-0") == [{"time": _at(50), **expected}]


@given(
    st.lists(
        st.tuples(st.sampled_from(["p", "q"]), st.integers(0, 99), st.integers(1, 50), st.sampled_from([_A, _B])),
        min_size=1,
        unique_by=lambda each: each[:2],
    )
)
def test_every_moment_of_every_pod_is_in_an_entry_of_its_machine(drawn: list[tuple[str, int, int, Any]]) -> None:
    starts = [Start(pod, began, where, began + took, "exit 1") for pod, began, took, where in drawn]
    entries = pod_history.machines(starts)
    for each in starts:
        (own,) = (
            entry
            for entry in entries
            if entry["node"] == each.machine["node"]
            and entry["from"] <= _at(each.began) <= entry["to"]
            and each.pod in entry["pods"]
            and _at(each.ended or 0) <= entry["to"]
        )
        assert own
    of_a = sorted((entry["from"], entry["to"]) for entry in entries if entry["node"] == "a")
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(of_a)), "entries overlap"


def test_the_launcher_notes_each_start_and_the_version_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {**launcher.WRITES, machine.NODE: "gpu-1"}
    assert launcher.of_run(tmp_path, "raise SystemExit(3)", **variables).returncode == 3
    assert launcher.of_run(tmp_path, "", **variables).returncode == 0
    first = tmp_path / ".digits-1.pods" / os.uname().nodename
    noted = [json.loads(line) for line in first.read_text().splitlines()]
    assert [each["how"] for each in noted[1::2]] == ["exit 3", "exit 0"]
    # Another pod of the run, which was killed while it wrote.
    first.with_name("digits-1-worker-0-1").write_text(
        json.dumps({"began": 1.0, "machine": _B}) + '\n{"began": 1.0, "en'
    )
    monkeypatch.setenv("TENSORPLANE_RUN", str(tmp_path / "digits-1"))
    monkeypatch.delenv("TENSORPLANE_LINEAGE", raising=False)
    found = lineage.record("digits-1")
    assert found["started"] == _at(1)
    assert [each["node"] for each in found["machines"]][:2] == ["b", "gpu-1"]
    assert found["machines"][0]["pods"] == ["worker-0-1"]
    assert found["restarts"] == [{"time": _at(noted[2]["began"]), "pod": os.uname().nodename, "after": "exit 3"}]
