"""Kubernetes versions of a cloud: those in `components/versions.py`, and a few later ones."""

from components.versions import OFFERED_IN, Offered


def too_new(known: Offered, minor: int) -> str | None:
    """Problem and remedy of a minor version that is not offered yet."""
    if minor <= known.newest_accepted:
        return None
    return f"is not offered by {known.cloud} (newest in {OFFERED_IN}: 1.{known.newest}); set 1.{known.newest}"


def problem(known: Offered, minor: int) -> str | None:
    """The same, also for versions that are no longer offered."""
    if minor >= known.oldest:
        return too_new(known, minor)
    return f"is no longer offered by {known.cloud}; set 1.{known.oldest} to 1.{known.newest}"
