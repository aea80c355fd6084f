"""`tensorplane models`: the table, a model's signatures, and what programs get."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from rich.console import Console

from cli.commands.models import listed
from tests.support.served import Api, access, tunnelled
from tests.unit.cli.serving.test_traffic import shown


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed, "_SECONDS", 0.01)
    tunnelled(monkeypatch)


def _api() -> Api:
    api = Api()
    api.metrics = [shown(8, 8), shown(8, 8)]
    return api


def _printed(target: str | None, api: Api | None = None) -> str:
    console = Console(file=io.StringIO(), width=160, color_system=None)
    listed.run(access(api or _api()), target, console, as_json=False)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _plain(target: str | None, capsys: pytest.CaptureFixture[str]) -> Any:
    listed.run(access(_api()), target, Console(file=io.StringIO()), as_json=True)
    return json.loads(capsys.readouterr().out)


def test_each_model_has_a_line() -> None:
    heading, ranker, half, *more, other = (" ".join(line.split()) for line in _printed(None).splitlines())
    assert heading == "server model versions labels ready requests/s p50 p99"
    assert ranker == "ranker-server ranker - - 0/1 0.0 - -"
    assert half == "vision half 4 END: no file canary=3 1/2 0.0 0.5 ms 0.99 ms"
    assert more == ["3 AVAILABLE stable=2", "2 AVAILABLE"], "a line for each version and label"
    assert other == "vision other - - 1/2 0.0 - -"


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
