"""The Pulumi program of a stack."""

from __future__ import annotations

import pulumi

from tensorplane.core.errors import UserError
from tensorplane.stack import resources
from tensorplane.stack.loading import load


def deploy() -> None:
    """Declares what the running stack's settings say, and exports what it offers.

    Problems of the settings end the program, a line each, with none of Python's.
    """
    try:
        outputs = resources.build(load())
    except UserError as error:
        raise pulumi.RunError(str(error)) from None
    for name, value in outputs.items():
        pulumi.export(name, value)
