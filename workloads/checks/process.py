"""What a workload's process is started with: its command and variables, and whether the cluster can keep that."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.base.faults import Fault, Key

LIMIT_BYTES = 256 * 1024
"""Of a command and its variables together. They are in the JobSet, and again in Kueue's Workload; the API server takes
1.5 MiB for an object, in which JSON makes up to six bytes of one."""


def check(command: Sequence[str], env: Mapping[str, Any], at: Key) -> Iterator[Fault]:
    """More text than an object can hold. Paths begin at the workload, which is `at`.

    Variables whose values other resources produce are not known yet.
    """
    arguments = sum(len(text.encode()) for text in command)
    variables = {name: len(name) + len(text.encode()) for name, text in env.items() if isinstance(text, str)}
    total = arguments + sum(variables.values())
    if total <= LIMIT_BYTES:
        return
    key = "command" if arguments > total - arguments else "env"
    reason = f"command and env have {total:,} bytes, more than the {LIMIT_BYTES:,} of a job"
    yield Fault((*at, key), f"{reason}; move large values to `files`, the image or a volume", given=(at,))
