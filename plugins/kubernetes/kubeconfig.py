"""From the kubeconfig of a `Provider` (a path, its contents, or the machine's own) to a connection."""

from __future__ import annotations

import copy
import os
from pathlib import Path

from tensorplane.core import kubeconfig
from tensorplane.core.api_connection import Connection
from tensorplane.core.errors import UserError
from tensorplane.core.kubeconfig import Kubeconfig, entry
from tensorplane.plugins.kubernetes.settings import Settings


def load(given: str) -> Kubeconfig:
    """Reads a kubeconfig's path or contents; without either, kubectl's default ($KUBECONFIG, ~/.kube/config)."""
    if not given:
        try:
            return kubeconfig.of_user()
        except UserError as error:
            raise UserError(f"kubeconfig: {error}; set the Provider's kubeconfig, or $KUBECONFIG") from None
    path = Path(given).expanduser() if "\n" not in given and len(given) < os.pathconf("/", "PC_PATH_MAX") else None
    is_file = path is not None and path.is_file()
    try:
        return kubeconfig.read(path) if path and is_file else kubeconfig.parse(given)
    except UserError as error:
        reason = f"{path}: {error}" if is_file else "the given text is neither a kubeconfig nor a path to one"
        raise UserError(f"kubeconfig: {reason}") from None


def current_cluster(config: Kubeconfig, context: str = "", cluster: str = "") -> Kubeconfig | None:
    """The server of a kubeconfig, with a `Provider`'s overrides; None if it names none."""
    chosen = kubeconfig.context_in(config, context)
    if chosen is None:
        return None
    found = entry(config, "clusters", cluster or chosen.get("cluster", ""))
    return found["cluster"] if found else None


def namespace(config: Kubeconfig, context: str = "") -> str:
    """The context's namespace; empty if it sets none."""
    chosen = kubeconfig.context_in(config, context)
    return str(chosen.get("namespace") or "") if chosen else ""


def with_overrides(config: Kubeconfig, settings: Settings) -> Kubeconfig:
    """The kubeconfig with the `Provider`'s context, cluster and namespace selected, for other programs."""
    config = copy.deepcopy(config)
    if settings.context:
        config["current-context"] = settings.context
    chosen = kubeconfig.context_in(config)
    if chosen is not None:
        chosen |= {"cluster": settings.cluster} if settings.cluster else {}
        chosen |= {"namespace": settings.namespace} if settings.namespace else {}
    return config


def connect(config: Kubeconfig) -> Connection:
    """A connection by the kubeconfig's current context. A UserError if it cannot be used."""
    try:
        connection = Connection(kubeconfig.select(config))
    except UserError as error:
        raise UserError(f"the kubeconfig cannot be used: {error}") from None
    connection.check()
    return connection
