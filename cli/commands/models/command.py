"""The models of a stack's servers: versions and their states, labels, replicas, traffic."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from rich.console import Console, RenderableType

from tensorplane.cli.access import Access
from tensorplane.cli.commands.models import signatures
from tensorplane.cli.output.numbers import NOTHING, latency
from tensorplane.cli.output.tables import table
from tensorplane.cli.serving import progress, rest, server, traffic
from tensorplane.cli.serving.server import Server
from tensorplane.cli.serving.traffic import Counts, Traffic
from tensorplane.core.errors import UserError
from tensorplane.workloads.model_server import serving_config

_SECONDS = 3.0
"""Between two looks at the metrics."""
_PARALLEL_REQUESTS = 16
_MOST_SHORT_CHARACTERS = 20
_NUMBERS = ("ready", "requests/s", "p50", "p99")
_LEAST = ("p50", "labels", "requests/s", "p99")
"""Columns that a narrow terminal leaves out, the least important first."""


@dataclass(frozen=True)
class Row:
    """One model of a server."""

    server: str
    model: str
    versions: Mapping[int, str]
    """States by version, as TensorFlow Serving names them; empty if it answers nothing."""
    labels: Mapping[str, int]
    ready: int | None
    """Ready pods of the server. None, as `replicas` and `traffic`, for members of a team."""
    replicas: int | None
    traffic: Traffic | None
    shares: str = ""
    """Which part of the requests each version gets, where a canary tries new ones."""
    decision: str = ""
    """The last decision of the canary's controller."""
    waits: str = ""
    """What the gates of a version that is tried still wait for."""


def run(access: Access, target: str | None, console: Console, *, as_json: bool) -> None:
    """Asks the cluster, and prints. `target`: SERVER or SERVER/MODEL; None: all."""
    found = server.chosen(access, target)
    rows = ask(found)
    of_one = signatures.of(*found[0]) if target and len(found) == 1 else None
    if as_json:
        plain = [asdict(row) for row in rows]
        print(json.dumps(plain if of_one is None else {**plain[0], "signatures": of_one}, indent=2))
    elif not rows:
        console.print("There is no model server; declare a workload of kind modelServer.")
    else:
        console.print(render(rows))
        for line in decisions(rows):
            console.print(line)
        if of_one is not None:
            console.print("", signatures.render(of_one))


def ask(found: Sequence[tuple[Server, str]]) -> list[Row]:
    """The rows of these models."""
    by_name = {one.name: one for one, _ in found}
    with ThreadPoolExecutor(_PARALLEL_REQUESTS) as pool:
        versions = pool.map(lambda pair: _versions(*pair), found)
        looks = dict(zip(by_name, pool.map(_looks, by_name.values()), strict=True))
        return [
            Row(
                one.name,
                model,
                states,
                one.models[model],
                one.ready,
                one.replicas,
                None if (look := looks[one.name]) is None else traffic.of(model, *look),
                one.rollout.shares if one.rollout else "",
                one.rollout.last_decision if one.rollout else "",
                progress.waits(one, model),
            )
            for (one, model), states in zip(found, versions, strict=True)
        ]


def _versions(of: Server, model: str) -> dict[int, str]:
    """The states of the versions, the newest first. Those that were unloaded in peace are left out."""
    try:
        return {version: state for version, state in of.states(model).items() if state != "END"}
    except UserError:
        return {}


def _looks(of: Server) -> tuple[list[tuple[dict[str, Counts], dict[str, Counts]]], float] | None:
    """Two looks at the metrics of each ready pod, and the seconds between them, in which the first look may have taken
    the longest; None if the user may not see the pods.
    """
    if of.replicas is None:
        return None
    pods, begun = of.pods(), time.monotonic()
    before = [_counts(of, pod) for pod in pods]
    time.sleep(_SECONDS if pods else 0)
    apart = time.monotonic() - begun
    return list(zip(before, [_counts(of, pod) for pod in pods], strict=True)), apart


def _counts(of: Server, pod: str) -> dict[str, Counts]:
    """What a pod has counted; nothing if it has no metrics, or has ended by now."""
    try:
        status, text = rest.ask(of.api, pod, serving_config.METRICS_PATH)
    except UserError:
        return {}
    return traffic.read(text.decode()) if status == 200 else {}


def render(rows: Sequence[Row]) -> RenderableType:
    """The table."""
    columns = {
        "server": [row.server for row in rows],
        "model": [row.model for row in rows],
        "versions": ["\n".join(f"{number} {state}" for number, state in row.versions.items()) for row in rows],
        "labels": ["\n".join(f"{label}={number}" for label, number in row.labels.items()) for row in rows],
        "traffic": [row.shares.replace(", ", "\n") for row in rows],
        "ready": [NOTHING if row.ready is None else f"{row.ready}/{row.replicas}" for row in rows],
        "requests/s": [f"{row.traffic.requests_per_second:.1f}" if row.traffic else NOTHING for row in rows],
        "p50": [latency(row.traffic.p50_ms if row.traffic else None) for row in rows],
        "p99": [latency(row.traffic.p99_ms if row.traffic else None) for row in rows],
    }
    shown = {name: [cell or NOTHING for cell in cells] for name, cells in columns.items()}
    filled = {name: cells for name, cells in shown.items() if set(cells) != {NOTHING}}
    cells = list(zip(*filled.values(), strict=True))
    # Of a version that cannot be loaded, the reason may be long.
    short = (
        ("versions",)
        if max(map(len, "\n".join(shown["versions"]).splitlines()), default=0) <= _MOST_SHORT_CHARACTERS
        else ()
    )
    unwrapped, narrow = (*_NUMBERS, *short, "labels", "traffic"), any(row.shares for row in rows)
    return table(tuple(filled), cells, right=_NUMBERS, unwrapped=unwrapped, least=_LEAST, narrow=narrow)


def decisions(rows: Sequence[Row]) -> list[str]:
    """Below the table, in whole at any width: what the canaries' controllers decided last, and wait for."""
    return [
        f"{row.server}: {row.decision}" + (f"; waits for {row.waits}" if row.waits else "")
        for row in rows
        if row.decision
    ]
