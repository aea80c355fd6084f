"""What a dataset refuses."""

from __future__ import annotations


class Refused(Exception):
    """Why something cannot be done, in one line: `what: problem; remedy`."""


class Cut(Refused):
    """Contents stopped coming: those that have come stay for whoever goes on."""


class Gone(Refused):
    """Something that retention has deleted."""
