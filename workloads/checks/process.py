"""Check of the size of command and environment variables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.base.faults import Fault, Key

LIMIT_BYTES = 256 * 1024
"""Limit of a command and its variables together. The JobSet and Kueue's Workload contain them; the API server accepts
objects of up to 1.5 MiB, and JSON escapes one byte with up to six."""


def check(command: Sequence[str], env: Mapping[str, Any], at: Key) -> Iterator[Fault]:
    """Fault of a command and variables above the limit. `at`: the path of the workload.

    Variables that other resources produce are not counted.
    """
    arguments = sum(len(text.encode()) for text in command)
    variables = {name: len(name) + len(text.encode()) for name, text in env.items() if isinstance(text, str)}
    total = arguments + sum(variables.values())
    if total <= LIMIT_BYTES:
        return
    key = "command" if arguments > total - arguments else "env"
    reason = f"command and env have {total:,} bytes, more than the {LIMIT_BYTES:,} of a job"
    yield Fault((*at, key), f"{reason}; move large values to `files`, the image or a volume", given=(at,))
