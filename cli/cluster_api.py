"""The API of a command's cluster."""

from __future__ import annotations

from cli.api_values import Object
from core.errors import UserError
from core.kube import Kube
from driver.target import Target


def reached(target: Target) -> Kube:
    """An API that answers; a UserError with the reason if it does not."""
    target.check_running()
    api = target.api()
    try:
        api.get("/version")
    except UserError as fault:
        if target.embedded:
            raise
        where = f"context {target.context}" if target.context else f"stack {target.stack}"
        raise UserError(f"{where}: {' '.join(fault.lines)}") from None
    return api


class Lists:
    """Lists of a cluster's API. What the user may not read is left out, and noted."""

    def __init__(self, api: Kube) -> None:
        self._api = api
        self.notes: list[str] = []

    def read(self, path: str, **query: str) -> list[Object] | None:
        """The items of a list; None if they cannot be read."""
        try:
            return self._api.items(path, **query)
        except UserError as fault:
            self.notes.extend(fault.lines)
            return None
