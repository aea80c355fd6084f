"""Files of settings as they are, built under Pulumi mocks once for all tests of a process."""

from __future__ import annotations

import functools
from pathlib import Path

import stack
from tests.support.rendering import Rendered, run, settings_of


@functools.cache
def rendered_file(path: Path) -> Rendered:
    """What the stack of a file of settings registers; tests that ask again get the same, and change nothing in it."""
    return run(lambda: stack.build(stack.load(settings_of(path))))
