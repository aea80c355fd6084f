"""The addresses of a job's pods: each start of its gang uses ports of its own.

A pod of a former start may still run, on a node that is lost or whose kubelet is stopped, and the names of its peers
lead to the pods that have replaced them. TensorFlow ends a worker to which a process of another start connects or sends
heartbeats. So the ports in the job's variables and arguments are those of the first start, and the n-th restart adds n.

It only requires the standard library, because the launcher uses it before any command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

RESTARTS = "TENSORPLANE_RESTARTS"
"""Variable with how often the job's gang was restarted before this start."""
_VARIABLES = ("TF_CONFIG", "TENSORPLANE_DATA_SERVICE", "TENSORPLANE_ADDRESS")
"""Those that name all addresses between a job's pods."""
_ADDRESS = re.compile(r"[\w-]+(?:\.[\w-]+)+:\d+")
_PORTS = 100
"""More starts than this lie between two that use the same ports."""


def of_start(environment: Mapping[str, str]) -> Callable[[str], str]:
    """What puts the addresses of this start into a text that has those of the first start."""
    restarts = environment.get(RESTARTS, "")
    added = int(restarts) % _PORTS if restarts.isdecimal() else 0
    named = {found for name in _VARIABLES for found in _ADDRESS.findall(environment.get(name, ""))}
    if not added or not named:
        return str
    either = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))

    def moved(match: re.Match[str]) -> str:
        host, port = match[0].rsplit(":", 1)
        return f"{host}:{int(port) + added}"

    return lambda text: re.sub(rf"(?<![\w.-])(?:{either})(?!\d)", moved, text)
