"""The connection to a created cluster."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s


@dataclass(frozen=True)
class Connection:
    """The connection to a created cluster."""

    provider: "k8s.Provider"
    kubeconfig: pulumi.Output[str | None]
    native: Any = None
