"""Tests in a random order, so that none depends on another: TENSORPLANE_ORDER repeats one that was printed.

What shares a cluster or a program stays together: folders are shuffled, the modules of each, and the tests of those.
"""

from __future__ import annotations

import os
import random
import secrets
from pathlib import Path

import pytest

_SEED = "TENSORPLANE_ORDER"


def pytest_configure(config: pytest.Config) -> None:
    """Chooses the order, also for pytest in tests."""
    os.environ.setdefault(_SEED, str(secrets.randbelow(10**6)))


def pytest_report_header(config: pytest.Config) -> str:
    """Tells how to repeat the order."""
    return f"order: {_SEED}={os.environ[_SEED]}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffles."""
    seed = os.environ[_SEED]
    places = {item: _folders(item) for item in items}
    drawn = {place: random.Random(seed + place).random() for item in items for place in places[item]}
    items.sort(key=lambda item: [(drawn[place], place) for place in places[item]])


def _folders(item: pytest.Item) -> list[str]:
    """The folders, the module, the class and the test that an item is in, outermost first."""
    path, *names = item.nodeid.split("::")
    folders = [str(folder) for folder in reversed(Path(path).parents)]
    return [*folders, path, *names]
