"""Runs a program as in a preview, with mocks: each resource's outputs are its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi.runtime

from tensorplane.components.base import stack_name


class _Echo(pulumi.runtime.Mocks):
    def __init__(self) -> None:
        self.registered: dict[str, int] = {}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        raise AssertionError(f"a program must not call providers, it called {args.token}")

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.registered[args.typ] = self.registered.get(args.typ, 0) + 1
        return f"{args.name}-id", dict(args.inputs)


def run(program: Callable[[], object], *, stack: str) -> dict[str, int]:
    """Runs it to its end; returns the number of resources by type."""
    echo = _Echo()
    # As in a preview, missing outputs are unknown.
    stack_name.configure("")
    pulumi.runtime.set_mocks(echo, project="tensorplane", stack=stack, preview=True)

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def body() -> None:
        program()

    body()
    return echo.registered
