"""Which run a job's objects belong to: the same one as long as nothing changes that decides what it computes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from components.base.names import digest_of


@dataclass(frozen=True)
class Recorded:
    """What the stack's last deployment says of a job's run."""

    name: str
    decisive: Mapping[str, str] | None = None
    """Hashes of what decided it, by what it is; None of a run that was deployed before runs recorded it."""
    manifest: str = ""
    """Hash of the JobSet that went with it, without the library."""
    kept: bool = False
    """Whether the JobSet is still the one from before runs recorded what decides them."""


@dataclass(frozen=True)
class Decisive:
    """What decides what a run computes. How large it is, where it runs, and when, are not among it."""

    parts: Mapping[str, Any] = field(default_factory=dict)
    """Plain values by what they are: command, code, environment, image, strategy, data, model, attempt."""

    @property
    def hashes(self) -> dict[str, str]:
        """A short hash of each part that is set."""
        return {name: digest_of(value) for name, value in sorted(self.parts.items()) if value}

    def name(self, job: str) -> str:
        """The name of a new run of the job."""
        return f"{job}-{digest_of(self.hashes)}"


def of(job: str, decisive: Decisive, recorded: Recorded | None) -> str:
    """The name of the run: the recorded one's unless something that decides it has changed."""
    if recorded and recorded.decisive in (None, decisive.hashes):
        return recorded.name
    return decisive.name(job)


def keeps(name: str, manifest: str, recorded: Recorded | None) -> bool:
    """Whether the JobSet stays as it was deployed before runs recorded what decides them.

    A JobSet cannot change, so that any difference would start a finished run again. It stays until a setting changes.
    """
    if recorded is None or recorded.name != name:
        return False
    return recorded.decisive is None or (recorded.kept and recorded.manifest == manifest)
