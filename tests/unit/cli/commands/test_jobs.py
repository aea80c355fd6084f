"""`tensorplane jobs`: the table at several widths, and what programs get."""

from __future__ import annotations

import http.server
import io
import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from rich.console import Console

from tensorplane.cli.access import Access
from tensorplane.cli.commands.jobs import command as jobs
from tensorplane.cli.commands.jobs import tables
from tensorplane.cli.commands.jobs.tables import Row
from tensorplane.cli.training_jobs.listing import Job, State
from tensorplane.cli.training_jobs.progress import Progress
from tensorplane.components.base.price import Usd
from tensorplane.core.api_connection import Connection
from tensorplane.core.kube import Kube
from tests.unit.cli.training_jobs.test_listing import NOW


def _row(name: str, state: State, place: tuple[int, int] | None = None, progress: Progress | None = None) -> Row:
    ended = NOW - timedelta(hours=1) if state in ("finished", "failed") else None
    job = Job(
        name=name,
        run=f"{name}-0a1b2c3d",
        uid=f"uid-{name}",
        namespace="tensorplane-dev",
        state=state,
        queue="research",
        flavors=("h100-80gb",) if state in ("running", "starting") else (),
        pods=4,
        gpus=32,
        restarts=1 if state == "failed" else 0,
        created=NOW - timedelta(hours=5),
        ended=ended,
        gpu_hours=12.5,
        usd=Usd(49.8, 49.8),
    )
    return Row(job, place, progress or Progress())


ROWS = [
    _row("speech", "running", progress=Progress(12_000, 50_000, 0.4321, 7.5, 5100)),
    _row("vision", "starting"),
    _row("ranker", "waiting", (3, 7)),
    _row("search", "failed"),
]


def _shown(rows: list[Row], width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(tables.render(rows, NOW))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_wide_terminal_has_every_fact_on_one_line_each() -> None:
    lines = _shown(ROWS, 160).splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert (
        " ".join(lines[1].split())
        == "speech-0a1b2c3d running h100-80gb 12,000/50,000 0.4321 7.5 85 min 4 32 12.5 $49.80 - 5 h"
    )
    assert "3rd of 7 in research" in lines[3]
    assert "namespace" not in lines[0], "it is the same everywhere"


def test_a_narrow_terminal_has_fewer_columns_and_no_broken_word() -> None:
    shown = _shown(ROWS, 80)
    assert max(map(len, shown.splitlines())) <= 80
    assert "steps/s" not in shown
    for word in ("speech", "running", "12,000/50,000", "research", "failed"):
        assert word in shown


def test_the_namespace_stays_where_two_jobs_have_the_same_name() -> None:
    other = _row("speech", "running")
    twin = replace(other, job=replace(other.job, namespace="tensorplane-dev-any", uid="uid-twin"))
    for width in (80, 160):
        shown = _shown([*ROWS, twin], width)
        assert "tensorplane-dev-any" in shown.split(), width
        assert max(map(len, shown.splitlines())) <= width


def test_columns_without_a_fact_are_left_out() -> None:
    shown = _shown([_row("vision", "starting")], 160)
    assert "loss" not in shown
    assert "ETA" not in shown


def test_programs_get_every_fact() -> None:
    found = ROWS[2].plain()
    assert (found["place"], found["queue"], found["gpu_hours"]) == (3, "research", 12.5)
    assert found["usd"] == {"low": 49.8, "high": 49.8}
    assert found["created"] == (NOW - timedelta(hours=5)).isoformat()
    assert ROWS[0].plain()["loss"] == pytest.approx(0.4321)


class _Nothing(http.server.BaseHTTPRequestHandler):
    """An API server without objects, which writes every list as Go writes one that nothing was added to."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"items": null}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("team", ["", "vision"])
def test_a_cluster_without_jobs_has_an_empty_list(team: str, capsys: pytest.CaptureFixture[str]) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Nothing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        api = Kube(Connection.to(f"http://127.0.0.1:{server.server_port}"), "Start it")
        access = Access(api, "tensorplane-dev", team=team)
        jobs.run(access, Console(), everything=False, as_json=False)
        jobs.run(access, Console(), everything=False, as_json=True)
        server.shutdown()
    said, _, listed = capsys.readouterr().out.partition("\n")
    assert said == "There is no training job; start one with: tensorplane run -- python train.py"
    assert listed == "[]\n"
