"""Which versions of Kubernetes a cloud runs: those in `components/versions.py`, and the next few that are to come."""

from components.versions import OFFERED_IN, Offered


def too_new(known: Offered, minor: int) -> str | None:
    """Why no cluster can have this minor version of Kubernetes 1 yet, as the end of a sentence."""
    if minor <= known.last_believed:
        return None
    return f"is not offered by {known.cloud} (newest in {OFFERED_IN}: 1.{known.newest}); set 1.{known.newest}"


def problem(known: Offered, minor: int) -> str | None:
    """The same, or why it can have it no longer."""
    if minor >= known.oldest:
        return too_new(known, minor)
    return f"is no longer offered by {known.cloud}; set 1.{known.oldest} to 1.{known.newest}"
