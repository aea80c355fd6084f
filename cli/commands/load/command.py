"""A load test of one model: through its Service where this machine reaches that, else through a tunnel to one pod."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from rich.console import Console

from tensorplane.cli import tunnel
from tensorplane.cli.access import Access
from tensorplane.cli.commands.load import report
from tensorplane.cli.commands.models import signatures
from tensorplane.cli.commands.predict import command as predict
from tensorplane.cli.serving import load, server
from tensorplane.cli.serving.server import Server
from tensorplane.components.base.plural import number_of
from tensorplane.core.errors import UserError
from tensorplane.workloads.model_server.manifest import REST_PORT

_CONNECT_SECONDS = 1.0
_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class LoadOptions:
    """What the user wants."""

    target: str
    """SERVER or SERVER/MODEL."""
    body: bytes | None
    rate: float
    seconds: float
    connections: int


def run(access: Access, options: LoadOptions, console: Console, *, as_json: bool) -> None:
    """Runs the test, and prints what it measured; Ctrl-C ends it early. A UserError if the server does not answer
    the request."""
    found, model = server.one(access, options.target)
    body = predict.body(options.body, None) if options.body else load.zeros(_inputs(found, model))
    # A request that the server refuses is not worth a load test.
    found.ask(model, ":predict", body)
    plan = load.Plan(model, body, options.rate, options.seconds, options.connections)
    with _reached(found) as (host, port, through):
        if through and not as_json:
            console.print(through)
        answers = _measured(load.Run(plan, host, port), plan, console)
    if as_json:
        print(json.dumps(asdict(load.summary(answers)), indent=2))
    else:
        report.show(f"{found.name}/{model}", plan, answers, console)


def _inputs(found: Server, model: str) -> dict[str, dict[str, object]]:
    known = signatures.of(found, model)
    if "serving_default" not in known:
        raise UserError(f"{found.name}/{model}: has no signature serving_default; name a FILE with a request")
    return known["serving_default"]["inputs"]


def _measured(run: load.Run, plan: load.Plan, console: Console) -> list[load.Answer]:
    try:
        with run.started() as threads, console.status("") as status:
            while any(thread.is_alive() for thread in threads):
                done = len(run.answers)
                status.update(f"{done} of {number_of(round(plan.rate * plan.seconds), 'request')}")
                for thread in threads:
                    thread.join(_LOOK_SECONDS / len(threads))
    except KeyboardInterrupt:
        console.print("interrupted; what was measured until then:")
    return sorted(run.answers, key=lambda each: each.at)


@contextmanager
def _reached(found: Server) -> Iterator[tuple[str, int, str]]:
    """Host and port of the server, and how it is reached if that limits the rate."""
    service = found.api.get(f"/api/v1/namespaces/{found.namespace}/services/{found.name}") or {}
    address = str((service.get("spec") or {}).get("clusterIP") or "")
    if address and _connects(address):
        yield address, REST_PORT, ""
        return
    ready = found.pods()
    if not ready:
        raise found.without_pods()
    with tunnel.opened(found.api, ready[0], REST_PORT) as port:
        pod = ready[0].rpartition("/")[2]
        yield tunnel.HOST, port, f"through the API server to pod {pod} alone, which limits the rate"


def _connects(address: str) -> bool:
    try:
        socket.create_connection((address, REST_PORT), timeout=_CONNECT_SECONDS).close()
    except OSError:
        return False
    return True
