"""Asks a model server for a prediction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tensorplane.cli.access import Access
from tensorplane.cli.serving import server
from tensorplane.cli.serving.server import AVAILABLE, Server
from tensorplane.core.errors import UserError


@dataclass(frozen=True)
class PredictOptions:
    """Of which model."""

    target: str
    """SERVER or SERVER/MODEL."""
    version: int | None = None
    label: str | None = None


def run(access: Access, options: PredictOptions, request: dict[str, Any]) -> None:
    """Prints the answer. A UserError with the server's reason if it refuses."""
    found, model = server.one(access, options.target)
    # The canary's pods alone serve the version that it tries.
    tried = found.rollout.state.canary if found.rollout else None
    canary = options.version is not None and options.version == tried
    try:
        answer = found.ask(model, f"{_which(options)}:predict", request, canary=canary)
    except UserError:
        if options.version and (served := _served(found, model)) and options.version not in served:
            reason = f"{found.name}/{model} does not serve version {options.version}"
            raise UserError(f"--version: {reason}; choose one of {', '.join(map(str, served))}") from None
        raise
    print(json.dumps(answer))


def _served(of: Server, model: str) -> list[int]:
    """The versions that can be asked, the newest first, that of a canary included; none if the server is silent."""
    try:
        found = [of.states(model), *([of.states(model, canary=True)] if of.rollout else ())]
    except UserError:
        return []
    available = {version for states in found for version, state in states.items() if state == AVAILABLE}
    return sorted(available, reverse=True)


def _which(options: PredictOptions) -> str:
    """The part of the path that chooses a version."""
    if options.version:
        return f"/versions/{options.version}"
    return f"/labels/{quote(options.label, safe='')}" if options.label else ""


def body(text: bytes, signature: str | None) -> dict[str, Any]:
    """The body of the request. A UserError if it is not one."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UserError(f"request: is not JSON: {error}") from None
    if isinstance(found, list):
        found = {"instances": found}
    if not isinstance(found, dict) or ("instances" in found) == ("inputs" in found):
        has = f"an object with {', '.join(found) or 'no keys'}" if isinstance(found, dict) else json.dumps(found)[:40]
        raise UserError(f"request: is {has}; give a list of instances, or an object with either instances or inputs")
    return {**found, "signature_name": signature} if signature else found
