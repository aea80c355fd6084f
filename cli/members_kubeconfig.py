"""The kubeconfig of a team's members says whose it is, so that their commands need no `--team`."""

from __future__ import annotations

from typing import Any

import yaml

from tensorplane.components.base.labels import DOMAIN
from tensorplane.core import kubeconfig
from tensorplane.core.errors import UserError
from tensorplane.stack_file import dumping

_EXTENSION = f"{DOMAIN}/team"
"""Name of the extension of a context, which other clients ignore."""


def noted(kubeconfig: str, team: str) -> str:
    """A kubeconfig whose contexts are for the members of a team."""
    found = yaml.safe_load(kubeconfig)
    extension = {"name": _EXTENSION, "extension": {"team": team}}
    contexts = [{**one, "context": {**one["context"], "extensions": [extension]}} for one in found["contexts"]]
    return dumping.dumped({**found, "contexts": contexts})


def team(context: str = "") -> str | None:
    """The team of the user's kubeconfig, in its current context or in this one; None if it is not a member's."""
    try:
        extensions = kubeconfig.context_of_user(context).get("extensions") or ()
        return next((_team(one) for one in extensions if one.get("name") == _EXTENSION), None)
    except (UserError, OSError, AttributeError, TypeError):
        return None  # commands about a stack may not need it


def _team(extension: dict[str, Any]) -> str | None:
    found = (extension.get("extension") or {}).get("team")
    return found if isinstance(found, str) and found else None
