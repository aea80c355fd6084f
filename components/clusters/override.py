"""A cluster from the environment instead of the stack's own."""

import os
from collections.abc import Mapping
from typing import Any

CONTEXT_VARIABLE = "TENSORPLANE_CONTEXT"
"""Environment variable with a context of the kubeconfig: deploy there instead of the stack's cluster."""


def with_context(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the cluster replaced by the context in the environment, if there is one.

    This is the one place that reads `TENSORPLANE_CONTEXT`, which is what `make up CONTEXT=kind-dev` sets.
    """
    context = os.environ.get(CONTEXT_VARIABLE)
    return {**tree, "cluster": {"kind": "existing", "context": context}} if context else dict(tree)
