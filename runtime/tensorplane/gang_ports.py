"""Every start of a gang uses its own ports.

A pod of an earlier start may still run, on a lost node or on one whose kubelet is stopped, while its peers' host names
resolve to the pods that replaced them. TensorFlow ends a worker to which a process of another start connects or sends
heartbeats. The addresses in a pod's variables and arguments have the ports of the first start; the n-th restart adds n.

It only requires the standard library, because the launcher uses it before any command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

RESTARTS = "TENSORPLANE_RESTARTS"
"""Variable with the number of restarts of the gang before this start."""
_VARIABLES = ("TF_CONFIG", "TENSORPLANE_DATA_SERVICE", "TENSORPLANE_ADDRESS")
"""Variables that together have the address of every pod of the job."""
_ADDRESS = re.compile(r"[\w-]+(?:\.[\w-]+)+:\d+")
_PORTS = 100
"""The ports repeat after this many starts."""


def port_shift(environment: Mapping[str, str]) -> Callable[[str], str]:
    """Returns a function that replaces, in a text, the ports of the first start by those of this one.

    It only changes addresses that the job's variables name. In the first start, it changes nothing.
    """
    restarts = environment.get(RESTARTS, "")
    added = int(restarts) % _PORTS if restarts.isdecimal() else 0
    addresses = {found for name in _VARIABLES for found in _ADDRESS.findall(environment.get(name, ""))}
    if not added or not addresses:
        return str
    either = "|".join(map(re.escape, sorted(addresses, key=len, reverse=True)))

    def shifted(match: re.Match[str]) -> str:
        host, port = match[0].rsplit(":", 1)
        return f"{host}:{int(port) + added}"

    return lambda text: re.sub(rf"(?<![\w.-])(?:{either})(?!\d)", shifted, text)
