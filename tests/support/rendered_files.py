"""Settings built under Pulumi mocks, once for all tests that ask for the same. They change nothing in what they get."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorplane import stack
from tensorplane.components.base.problems import Key
from tensorplane.components.base.settings import Settings
from tests.support.rendering import Rendered, run, settings_of

_KEPT = 40
"""Few tests ask again after so many others."""


def rendered_tree(tree: Mapping[str, Any], secret: frozenset[Key] = frozenset()) -> Rendered:
    """What the stack of these settings registers, of which some may be secret."""
    return _of_tree(json.dumps(tree), secret, _variables())


def rendered_anew(tree: Mapping[str, Any]) -> Rendered:
    """The same, for a test that patches the program or its mocks."""
    return run(lambda: stack.build(stack.load(Settings(dict(tree)))))


def _variables() -> frozenset[tuple[str, str]]:
    """What settings and what is registered may depend on."""
    names = ("PULUMI_", "TENSORPLANE_")
    return frozenset((name, value) for name, value in os.environ.items() if name.startswith(names))


@functools.lru_cache(maxsize=_KEPT)
def _of_tree(tree: str, secret: frozenset[Key], variables: frozenset[tuple[str, str]]) -> Rendered:
    return run(lambda: stack.build(stack.load(Settings(json.loads(tree), secret))))


@functools.cache
def rendered_file(path: Path) -> Rendered:
    """What the stack of a file of settings registers."""
    return run(lambda: stack.build(stack.load(settings_of(path))))
