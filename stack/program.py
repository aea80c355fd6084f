"""The Pulumi program of a stack."""

from __future__ import annotations

import pulumi

from tensorplane.core import extras
from tensorplane.core.errors import UserError
from tensorplane.stack import resources
from tensorplane.stack.loading import load


def deploy() -> None:
    """Declares what the running stack's settings say, and exports what it offers.

    Problems of the settings end the program, a line each, with none of Python's, and so do packages of an extra that
    are not installed.
    """
    try:
        outputs = resources.build(load())
    except UserError as error:
        raise pulumi.RunError(str(error)) from None
    except ModuleNotFoundError as error:
        if line := extras.explain(error):
            raise pulumi.RunError(line) from None
        raise
    for name, value in outputs.items():
        pulumi.export(name, value)
