"""CheckConfig and DiffConfig: the `Provider` resource's own inputs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from tensorplane.core.errors import UserError
from tensorplane.plugins.kubernetes import kinds, kubeconfig
from tensorplane.plugins.kubernetes.values import Properties, Unknown, plain

_CONNECTION = ("kubeconfig", "context", "cluster")
_IDENTIFIER = "clusterIdentifier"


def problems(urn: str, news: Properties) -> Iterator[tuple[str, str]]:
    """Property and reason of each problem in a `Provider`'s inputs."""
    given = plain(news)
    if _is_strict(given) and kinds.token(urn).startswith("pulumi:providers:"):
        if kinds.name(urn).startswith("default"):
            yield "", "strict mode prohibits default provider"
        for key in ("kubeconfig", "context"):
            if not given.get(key):
                yield key, f'strict mode requires Provider "{key}" argument'
    for key in ("renderYamlToDirectory", "alwaysRender"):
        if given.get(key) not in (None, "", False, "false"):
            yield key, "the embedded Kubernetes provider does not render YAML; install Pulumi's own plugin"
    if given.get("enableServerSideApply") in (False, "false"):
        yield (
            "enableServerSideApply",
            "the embedded Kubernetes provider only uses server-side apply; install Pulumi's own plugin",
        )


def diff(olds: Properties, news: Properties) -> tuple[list[str], list[str]]:
    """Changed keys, and those that mean another cluster, so that everything in it is replaced."""
    old, new = plain(olds), plain(news)
    changed = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
    if not changed:
        return [], []
    if _IDENTIFIER in new and old.get(_IDENTIFIER) == new[_IDENTIFIER]:
        return changed, []  # the user says that it is the same cluster
    replaces = [_IDENTIFIER] if _IDENTIFIER in changed and _IDENTIFIER in old and _IDENTIFIER in new else []
    unknown = next((key for key in _CONNECTION if isinstance(new.get(key), Unknown)), None)
    if unknown:
        return changed, [*replaces, unknown]
    before, after = _cluster(old), _cluster(new)
    if before is not None and after is not None and before != after:
        replaces += [key for key in _CONNECTION if key in changed]
    return changed, replaces


def _is_strict(given: dict[str, Any]) -> bool:
    config = json.loads(os.environ.get("PULUMI_CONFIG") or "{}")
    return str(given.get("strictMode", config.get("strictMode", ""))).lower() == "true"


def _cluster(given: dict[str, Any]) -> dict[str, Any] | None:
    """The server of a `Provider`, None if it is unknown."""
    text = given.get("kubeconfig") or ""
    try:
        config = kubeconfig.load(text if isinstance(text, str) else json.dumps(text)) if text else {}
    except UserError:
        return None
    return kubeconfig.current_cluster(config, given.get("context") or "", given.get("cluster") or "")
