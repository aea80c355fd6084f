"""What workloads register of the accelerators that they request, as `outputs.py` has it for the others."""

from typing import TypedDict


class Request(TypedDict):
    """Accelerators of equal pods of a workload, while all of them run. Policies count them for each group."""

    gpus: int
    """GPUs or TPU chips of all these pods."""
    priority: str
    """That of their queue; empty without a queue."""
    accelerators: list[str]
    """Every one that they may get, by its name in the catalog; empty if they may get any."""


class Requests(TypedDict):
    """What a workload registers beside its outputs. Missing in states of versions that did not register it."""

    requests: list[Request]
    """Its pods with accelerators."""
    team: str
    """The team in whose namespace they run; empty in the stack's own."""
