"""The errors of the library. All have one root.

Each is also the exception of Python that says the same, such as ValueError, so a program may catch either. An error of
TensorFlow, Kafka or the operating system is raised as it is.
"""

from __future__ import annotations


class TensorplaneError(Exception):
    """The root of the library's own errors."""

    ag_pass_through = True
    """AutoGraph raises the error as it is, and not its own StagingError, which is no ValueError."""


class UsageError(TensorplaneError, ValueError):
    """The library refuses arguments, data or settings. The message names them and the remedy."""


class StateError(TensorplaneError, RuntimeError):
    """A function is called too early, too late, or where it has no meaning."""
