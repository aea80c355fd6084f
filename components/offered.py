"""Which versions of Kubernetes a cloud runs: those in `versions.OFFERED`, and the next few that are to come."""

from components.catalog import Cloud
from components.versions import OFFERED, OFFERED_IN


def too_new(cloud: Cloud, minor: int) -> str | None:
    """Why no cluster can have this minor version of Kubernetes 1 yet, as the end of a sentence."""
    known = OFFERED[cloud]
    if minor <= known.last_believed:
        return None
    return f"is not offered by {cloud.upper()}, whose newest was 1.{known.newest} in {OFFERED_IN}; set 1.{known.newest}"


def problem(cloud: Cloud, minor: int) -> str | None:
    """The same, or why it can have it no longer."""
    known = OFFERED[cloud]
    if minor >= known.oldest:
        return too_new(cloud, minor)
    return f"is no longer offered by {cloud.upper()}, which has 1.{known.oldest} to 1.{known.newest}; set a newer one"
