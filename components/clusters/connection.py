"""What a kind of cluster hands over once it exists."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s


@dataclass(frozen=True)
class Connection:
    """What a kind of cluster hands over once it exists."""

    provider: "k8s.Provider"
    kubeconfig: pulumi.Output[str | None]
    native: Any = None
