"""The embedded cluster, whose nodes with GPUs are simulated: how a stack of it is told from one that says so."""

from __future__ import annotations

import posixpath

from stack_view.view import View

_CLUSTER = "tensorplane:index:Cluster"
_PROVIDER = "pulumi:providers:kubernetes"
_IDENTIFIER = "embedded-tensorplane"


def home(view: View) -> str | None:
    """The folder of the instance, with its kubeconfig and charts; None unless all objects of the stack are in it.

    A program may register a component of the cluster's type beside objects of another cluster, which have a provider.
    """
    if view.cluster != "embedded":
        return None
    folders = set()
    for provider in view.of(_PROVIDER):
        made_by = provider.parent.type if provider.parent else ""
        kubeconfig = provider.body.get("kubeconfig")
        if (made_by, provider.body.get("clusterIdentifier")) != (_CLUSTER, _IDENTIFIER) or not isinstance(
            kubeconfig, str
        ):
            return None
        folders.add(posixpath.dirname(kubeconfig))
    return folders.pop() if len(folders) == 1 else None
