"""How a kubeconfig's user authenticates to the API server: tokens, certificates, exec plugins, impersonation."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tensorplane.core.errors import UserError

_EXEC_API = "client.authentication.k8s.io/"
_EXEC_CLUSTER = "client.authentication.k8s.io/exec"
"""The cluster's extension whose content exec plugins get as `spec.cluster.config`."""
_IMPERSONATED = {"as": "Impersonate-User", "as-uid": "Impersonate-Uid", "as-groups": "Impersonate-Group"}
"""Impersonation headers by the keys of a kubeconfig's user."""
_RENEWED_BEFORE = timedelta(seconds=30)
"""How long before it expires a credential is renewed: requests take time to arrive."""
_CLUSTER_KEYS = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")


@dataclass(frozen=True)
class Certificate:
    """A client certificate and its key: paths, or their content."""

    certificate: Path | bytes
    key: Path | bytes


@dataclass(frozen=True)
class _ExecCredential:
    """The `status` of the ExecCredential that an exec plugin printed."""

    token: str = ""
    certificate: Certificate | None = None
    until: datetime | None = None

    @property
    def is_expired(self) -> bool:
        return self.until is not None and datetime.now(UTC) >= self.until - _RENEWED_BEFORE


class Credentials:
    """The credentials of one user of a kubeconfig. Thread-safe.

    Each method raises a UserError that names the credential which cannot be obtained, and why.
    """

    def __init__(self, user: Mapping[str, Any], cluster: Mapping[str, Any]) -> None:
        self._user = user
        self._cluster = cluster
        self._exec_credential: _ExecCredential | None = None
        self._lock = threading.Lock()

    def headers(self) -> list[tuple[str, str]]:
        """The headers of each request: authentication and impersonation. A name may occur several times."""
        user = self._user
        found = []
        if token := self._token():
            found.append(("Authorization", f"Bearer {token}"))
        elif user.get("username") and user.get("password"):
            pair = f"{user['username']}:{user['password']}".encode()
            found.append(("Authorization", f"Basic {base64.b64encode(pair).decode()}"))
        for key, name in _IMPERSONATED.items():
            given = user.get(key) or []
            found += [(name, str(each)) for each in (given if isinstance(given, list) else [given])]
        for key, values in (user.get("as-user-extra") or {}).items():
            found += [(f"Impersonate-Extra-{quote(key, safe='')}", str(each)) for each in values]
        return found

    def certificate(self) -> Certificate | None:
        """The client certificate of each connection; None if the user has none."""
        if given := self._from_exec_plugin():
            return given.certificate
        certificate = _pem(self._user, "client-certificate")
        key = _pem(self._user, "client-key")
        return Certificate(certificate, key) if certificate and key else None

    def renew(self) -> bool:
        """Drops the ExecCredential that the server refused; the plugin runs again. False without an exec plugin."""
        with self._lock:
            self._exec_credential = None
        return bool(self._user.get("exec"))

    def _token(self) -> str:
        user = self._user
        if given := self._from_exec_plugin():
            return given.token
        if user.get("tokenFile"):
            # Read each time, because others renew it.
            return Path(str(user["tokenFile"])).read_text().strip()
        return str(user.get("token") or "") or _auth_provider_token(user.get("auth-provider") or {})

    def _from_exec_plugin(self) -> _ExecCredential | None:
        plugin = self._user.get("exec")
        if not plugin:
            return None
        with self._lock:
            if self._exec_credential is None or self._exec_credential.is_expired:
                self._exec_credential = _run_exec_plugin(plugin, self._cluster)
            return self._exec_credential


def _pem(section: Mapping[str, Any], key: str) -> Path | bytes | None:
    """A certificate or key of a cluster or user: its content (`KEY-data`, which takes precedence) or its path."""
    if data := section.get(f"{key}-data"):
        return base64.b64decode(data)
    return Path(str(section[key])) if section.get(key) else None


def _auth_provider_token(provider: Mapping[str, Any]) -> str:
    """The token of an `auth-provider`, kubectl's former way to log in, which only kubectl renews; empty without one."""
    if not provider:
        return ""
    name, config = provider.get("name"), provider.get("config") or {}
    token = str(config.get("id-token") or config.get("access-token") or "")
    if not token:
        raise UserError(f"auth-provider {name} has no token; use an exec plugin instead")
    if _expires(token) <= datetime.now(UTC):
        raise UserError(f"the token of auth-provider {name} has expired; renew it with: kubectl get namespaces")
    return token


def _expires(token: str) -> datetime:
    """When a JSON Web Token expires; never for other tokens."""
    try:
        claims = token.split(".")[1]
        content = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return datetime.fromtimestamp(content["exp"], UTC)
    except (IndexError, KeyError, TypeError, ValueError):
        return datetime.max.replace(tzinfo=UTC)


def _run_exec_plugin(plugin: Mapping[str, Any], cluster: Mapping[str, Any]) -> _ExecCredential:
    """Runs an exec plugin. One that asks for a login does so on the terminal."""
    command = str(plugin.get("command") or "")
    version = str(plugin.get("apiVersion") or "")
    asks = sys.stdin is not None and sys.stdin.isatty() and plugin.get("interactiveMode") != "Never"
    spec: dict[str, Any] = {"interactive": asks}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = _exec_cluster(cluster)
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    environment = {**os.environ, **{one["name"]: str(one["value"]) for one in plugin.get("env") or []}}
    environment["KUBERNETES_EXEC_INFO"] = json.dumps(info)
    try:
        ran = subprocess.run(
            [command, *map(str, plugin.get("args") or [])],
            env=environment,
            stdin=None if asks else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if asks else subprocess.PIPE,
            text=True,
            check=False,
        )
    except OSError as error:
        hint = f"; {plugin['installHint'].strip()}" if plugin.get("installHint") else ""
        raise UserError(f"its exec plugin {command} cannot be run: {error.strerror}{hint}") from None
    if ran.returncode:
        errors = (ran.stderr or "").strip().splitlines()
        reason = f"exit code {ran.returncode}" + (f": {errors[-1]}" if errors else "")
        raise UserError(f"its exec plugin {command} returned no credentials ({reason}); run it to see why")
    return _parse(command, version, ran.stdout)


def _parse(command: str, version: str, output: str) -> _ExecCredential:
    """Reads the ExecCredential that a plugin printed."""
    try:
        answer = json.loads(output)
        status = answer["status"]
        token, until = str(status.get("token") or ""), status.get("expirationTimestamp")
        pair = [str(status.get(key) or "").encode() for key in ("clientCertificateData", "clientKeyData")]
        given = _ExecCredential(token, Certificate(*pair) if all(pair) else None, _timestamp(until) if until else None)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UserError(f"its exec plugin {command} returned no credentials; run it to see why") from None
    if answer.get("apiVersion") != version or not version.startswith(_EXEC_API):
        raise UserError(
            f"its exec plugin {command} answers in apiVersion {answer.get('apiVersion')}, and the kubeconfig asks for "
            f"{version or 'none'}; set the kubeconfig's"
        )
    if not given.token and not given.certificate:
        raise UserError(f"its exec plugin {command} returned no credentials; run it to see why")
    return given


def _exec_cluster(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The cluster in an ExecCredential's `spec`, for a plugin with `provideClusterInfo`."""
    found = {key: cluster[key] for key in _CLUSTER_KEYS if key in cluster}
    authority = _pem(cluster, "certificate-authority")
    if isinstance(authority, Path):
        found["certificate-authority-data"] = base64.b64encode(authority.read_bytes()).decode()
    for one in cluster.get("extensions") or []:
        if one.get("name") == _EXEC_CLUSTER:
            found["config"] = one.get("extension")
    return found


def _timestamp(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
