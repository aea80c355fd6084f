"""What happens in the middle of changes to files: something else, or the end of the process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

CHANGES = ("mkdir", "rename", "replace", "symlink", "unlink")
"""Functions of `os`, which Path calls too."""


class Killed(BaseException):
    """What ends a process between two calls to the system."""


def kill() -> None:
    """Ends the process, as far as one test can."""
    raise Killed


@contextmanager
def interrupted(before: int, act: Callable[[], None] = kill, calls: Sequence[str] = CHANGES) -> Iterator[None]:
    """Calls `act` before so many-th of these calls to the system."""
    count = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == before:
                act()
            return real(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in calls:
            patch.setattr(os, name, counted(getattr(os, name)))
        yield
