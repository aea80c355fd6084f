"""What a workload's process is started with: its command and variables, and whether the cluster can keep that."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.faults import Fault, Key

LIMIT_BYTES = 256 * 1024
"""Of a command and its variables together. They are in the JobSet, and again in Kueue's Workload; the API server takes
1.5 MiB for an object, in which JSON makes up to six bytes of one."""


def check(command: Sequence[str], env: Mapping[str, Any], at: Key) -> Iterator[Fault]:
    """A command without a program, and more text than an object can hold. Paths begin at the workload, which is `at`.

    Variables whose values other resources produce are not known yet.
    """
    if command and not command[0].strip():
        yield Fault((*at, "command", "0"), "is empty, so no program is named; begin with one, such as python3")
    arguments = sum(len(text.encode()) for text in command)
    variables = {name: len(name) + len(text.encode()) for name, text in env.items() if isinstance(text, str)}
    total = arguments + sum(variables.values())
    if total <= LIMIT_BYTES:
        return
    key = "command" if arguments > total - arguments else "env"
    reason = f"command and env have {total:,} bytes together, and a job has room for {LIMIT_BYTES:,}"
    yield Fault((*at, key), f"{reason}; put what is large into `files`, the image or a volume", given=(at,))
