"""`tensorplane models`: the table, a model's signatures, and what programs get."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.commands.models import command as models
from tensorplane.cli.serving import server
from tensorplane.cli.serving.traffic import Traffic
from tests.support.served import Api, access, tunnelled
from tests.unit.cli.serving.test_traffic import shown


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "_SECONDS", 0.01)
    tunnelled(monkeypatch)


def _api() -> Api:
    api = Api()
    api.metrics = [shown(8, 8), shown(8, 8)]
    return api


def _printed(target: str | None, api: Api | None = None) -> str:
    console = Console(file=io.StringIO(), width=160, color_system=None)
    models.run(access(api or _api()), target, console, as_json=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _plain(target: str | None, capsys: pytest.CaptureFixture[str]) -> Any:
    models.run(access(_api()), target, Console(file=io.StringIO()), as_json=True)
    return json.loads(capsys.readouterr().out)


def test_each_model_has_a_line() -> None:
    heading, ranker, half, *more, other = (" ".join(line.split()) for line in _printed(None).splitlines())
    assert heading == "server model versions labels ready requests/s p50 p99"
    assert ranker == "ranker-server ranker - - 0/1 0.0 - -"
    assert half == "vision half 4 END: no file canary=3 1/2 0.0 0.5 ms 0.99 ms"
    assert more == ["3 AVAILABLE stable=2", "2 AVAILABLE"], "a line for each version and label"
    assert other == "vision other - - 1/2 0.0 - -"


def _row(**given: Any) -> models.Row:
    measured = Traffic(0.0, 67.5, 696.0)
    return models.Row("digits-server", "digits", {1: "AVAILABLE"}, {}, 3, 3, measured, **given)


def test_a_canary_fits_eighty_columns_and_its_last_decision_is_whole_below() -> None:
    row = _row(
        shares="1: 75 %, canary 2: 25 %",
        decision="CanaryStarted 2: tried beside version 1",
        waits="errorRate: 187 of 200 requests",
    )
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(models.render([row]))
    assert isinstance(console.file, io.StringIO)
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    assert lines == [
        "server model versions traffic ready requests/s p50 p99",
        "digits-server digits 1 AVAILABLE 1: 75 % 3/3 0.0 67.5 ms 696 ms",
        "canary 2: 25 %",
    ]
    assert models.decisions([row, _row()]) == [
        "digits-server: CanaryStarted 2: tried beside version 1; waits for errorRate: 187 of 200 requests"
    ]


def test_the_rate_counts_the_time_that_the_looks_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter((10.0, 14.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    api = Api()
    api.metrics = [shown(8, 8), shown(16, 16)]
    (found,) = models.ask([server.one(access(api), "vision/half")])
    assert found.traffic
    assert found.traffic.requests_per_second == 2.0, "8 requests in 4 seconds"


def test_one_model_has_its_signatures() -> None:
    lines = [" ".join(line.split()) for line in _printed("vision/half").splitlines()]
    assert lines[-3:] == [
        "signature name dtype shape",
        "serving_default input x DT_FLOAT (-1, 8)",
        "serving_default output y DT_STRING any",
    ]


def test_programs_get_every_fact(capsys: pytest.CaptureFixture[str]) -> None:
    found = _plain("vision/half", capsys)
    assert found["versions"] == {"4": "END: no file", "3": "AVAILABLE", "2": "AVAILABLE"}
    assert found["labels"] == {"canary": 3, "stable": 2}
    assert found["traffic"]["p50_ms"] == 0.5
    assert found["signatures"]["serving_default"]["inputs"] == {"x": {"dtype": "DT_FLOAT", "shape": [-1, 8]}}
    assert [row["model"] for row in _plain("vision", capsys)] == ["half", "other"]


def test_a_stack_without_servers_says_so() -> None:
    api = Api()
    api.deployments = []
    assert _printed(None, api) == "There is no model server; declare a workload of kind modelServer.\n"


# LOOK
