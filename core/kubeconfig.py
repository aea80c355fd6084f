"""Kubeconfigs: files, kubectl's own and texts, and what one of their contexts says of its server and its user."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tensorplane.core.errors import UserError

Kubeconfig = dict[str, Any]

_SECTIONS = ("clusters", "contexts", "users")
_REMEDY = "compare it with: kubectl config get-contexts"


@dataclass(frozen=True)
class Access:
    """The server and the user of a context, with the keys of kubeconfigs."""

    cluster: Mapping[str, Any]
    user: Mapping[str, Any]

    @property
    def server(self) -> str:
        """The address of the API server."""
        return str(self.cluster.get("server") or "").rstrip("/")


def access_of(file: Path | None, context: str | None = None) -> Access:
    """The server and user of a file's context. `file`: None for kubectl's own. `context`: None for the current one.

    A UserError with the file, the context and the reason if it has none.
    """
    try:
        return select(read(file) if file else of_user(), context)
    except UserError as error:
        shown = file or os.environ.get("KUBECONFIG") or "~/.kube/config"
        chosen = f"context {context}" if context else "its current context"
        raise UserError(f"kubeconfig {shown}, {chosen}: {error}; {_REMEDY}") from None


def access_in(text: str, context: str | None = None) -> Access:
    """The same of a kubeconfig's text."""
    try:
        return select(parse(text), context)
    except UserError as error:
        raise UserError(f"the stack's kubeconfig: {error}; {_REMEDY}") from None


def context_of_user(name: str = "") -> dict[str, Any]:
    """A context of kubectl's own kubeconfig: cluster, user, namespace, extensions. `name`: the current one if empty.

    Empty if there is no such context. A UserError with the reason if the file cannot be used.
    """
    try:
        config = of_user()
    except UserError as error:
        raise UserError(f"your kubeconfig cannot be read: {error}") from None
    return dict(context_in(config, name) or {})


def select(config: Kubeconfig, context: str | None = None) -> Access:
    """The server and user of a context, by default the current one. A UserError with the reason if it has none."""
    name = context or str(config.get("current-context") or "")
    if not name:
        raise UserError("it has no current context")
    if (chosen := context_in(config, name)) is None:
        raise UserError("it has no such context" if context else f"it has no context {name}, which is its current one")
    found = []
    for section in ("clusters", "users"):
        kind = section[:-1]
        # A user may be missing: some servers ask for none.
        wanted = str(chosen.get(kind) or "")
        one = entry(config, section, wanted)
        if one is None and (wanted or kind == "cluster"):
            raise UserError(f"it has no {kind} {wanted or '(its context names none)'}")
        found.append(one[kind] if one else {})
    access = Access(*found)
    if not access.server:
        raise UserError("its cluster names no server")
    return access


def of_user() -> Kubeconfig:
    """Kubectl's own: the files of $KUBECONFIG as one, or ~/.kube/config."""
    locations = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    paths = [Path(part).expanduser() for part in locations.split(os.pathsep) if part]
    files = [file for file in paths if file.is_file() and file.stat().st_size]
    if not files:
        raise UserError(f"{locations} does not exist")
    return _merged([_read_named(file) for file in files])


def _read_named(file: Path) -> Kubeconfig:
    try:
        return read(file)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None


def read(file: Path) -> Kubeconfig:
    """A file, with absolute paths in place of those that are relative to it."""
    try:
        text = file.read_text()
    except FileNotFoundError:
        raise UserError("it does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"it cannot be read: {error}") from None
    return _located(parse(text), file.absolute().parent)


def parse(text: str) -> Kubeconfig:
    """A kubeconfig's text. A UserError if it is something else."""
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError:  # which would show lines of the file, with keys
        config = None
    if not _is_kubeconfig(config):
        raise UserError("it is not a kubeconfig")
    return dict(config)


def context_in(config: Kubeconfig, name: str = "") -> Kubeconfig | None:
    """A context, by default the current one: cluster, user, namespace. None if there is no such context."""
    found = entry(config, "contexts", name or str(config.get("current-context") or ""))
    return found["context"] if found else None


def entry(config: Kubeconfig, section: str, wanted: str) -> Kubeconfig | None:
    """The entry with this name of `clusters`, `contexts` or `users`."""
    return next((one for one in config.get(section) or [] if one.get("name") == wanted), None)


def _merged(configs: list[Kubeconfig]) -> Kubeconfig:
    """Merges kubeconfigs as kubectl does: the first file with a name, or with the current context, decides."""
    merged: Kubeconfig = {}
    for config in configs:
        for section in _SECTIONS:
            known = merged.setdefault(section, [])
            known += [one for one in config.get(section) or [] if not entry(merged, section, one.get("name"))]
        merged |= {key: value for key, value in config.items() if key not in _SECTIONS and not merged.get(key)}
    return merged


def _is_kubeconfig(config: Any) -> bool:
    """Whether maps and lists are where they belong. One of several files may have only a part, such as users."""
    if not isinstance(config, dict) or not (config.get("kind") == "Config" or "clusters" in config):
        return False
    sections = {name: config.get(name) or [] for name in _SECTIONS}
    return all(
        isinstance(entries, list)
        and all(isinstance(one, dict) and isinstance(one.get(name[:-1]), dict) for one in entries)
        for name, entries in sections.items()
    )


def _located(config: Kubeconfig, folder: Path) -> Kubeconfig:
    """Resolves the file names in a kubeconfig, which are relative to its own folder."""
    for one in [*(config.get("clusters") or []), *(config.get("users") or [])]:
        for section in (one.get("cluster"), one.get("user")):
            for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
                if section and section.get(key):
                    section[key] = str(folder / section[key])
        plugin = (one.get("user") or {}).get("exec") or {}
        if os.sep in str(plugin.get("command") or ""):
            plugin["command"] = os.path.normpath(folder / plugin["command"])
    return config
