"""Who asks an API server: the tokens and certificates of a kubeconfig's user, also of its exec plugin."""

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
"""The extension of a cluster in a kubeconfig that its users' exec plugins are given."""
_IMPERSONATED = {"as": "Impersonate-User", "as-uid": "Impersonate-Uid", "as-groups": "Impersonate-Group"}
"""Headers by the keys of a user who asks on behalf of another one."""
_EARLY = timedelta(seconds=30)
"""So long before its end, a token is renewed: a request that is on its way must still find it valid."""
_CLUSTER_KEYS = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")


@dataclass(frozen=True)
class Certificate:
    """A client certificate and its key: paths, or their content."""

    certificate: Path | bytes
    key: Path | bytes


@dataclass(frozen=True)
class _Given:
    """What an exec plugin has given."""

    token: str = ""
    certificate: Certificate | None = None
    until: datetime | None = None

    @property
    def is_over(self) -> bool:
        return self.until is not None and datetime.now(UTC) >= self.until - _EARLY


class Credentials:
    """Those of one user. A UserError with the reason if the user has some that cannot be had. Thread-safe."""

    def __init__(self, user: Mapping[str, Any], cluster: Mapping[str, Any]) -> None:
        self._user = user
        self._cluster = cluster
        self._given: _Given | None = None
        self._lock = threading.Lock()

    def headers(self) -> list[tuple[str, str]]:
        """What each request says of its user. A name may occur several times."""
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
        """What each connection shows of its user."""
        if given := self._of_plugin():
            return given.certificate
        certificate = _content(self._user, "client-certificate")
        key = _content(self._user, "client-key")
        return Certificate(certificate, key) if certificate and key else None

    def renew(self) -> bool:
        """Forgets what the exec plugin gave, which the server refuses. False without a plugin: nothing else changes."""
        with self._lock:
            self._given = None
        return bool(self._user.get("exec"))

    def _token(self) -> str:
        user = self._user
        if given := self._of_plugin():
            return given.token
        if user.get("tokenFile"):
            # Read each time, because others renew it.
            return Path(str(user["tokenFile"])).read_text().strip()
        return str(user.get("token") or "") or _of_provider(user.get("auth-provider") or {})

    def _of_plugin(self) -> _Given | None:
        plugin = self._user.get("exec")
        if not plugin:
            return None
        with self._lock:
            if self._given is None or self._given.is_over:
                self._given = _run(plugin, self._cluster)
            return self._given


def _content(section: Mapping[str, Any], key: str) -> Path | bytes | None:
    """What a section has under a key: a path, or with `-data` the content itself, which comes first."""
    if data := section.get(f"{key}-data"):
        return base64.b64decode(data)
    return Path(str(section[key])) if section.get(key) else None


def _of_provider(provider: Mapping[str, Any]) -> str:
    """The token of kubectl's former way to log in, which kubectl itself renews; empty without one."""
    if not provider:
        return ""
    name, config = provider.get("name"), provider.get("config") or {}
    token = str(config.get("id-token") or config.get("access-token") or "")
    if not token:
        raise UserError(f"auth-provider {name} has no token; use an exec plugin instead")
    if _ends(token) <= datetime.now(UTC):
        raise UserError(f"the token of auth-provider {name} has expired; renew it with: kubectl get namespaces")
    return token


def _ends(token: str) -> datetime:
    """When a JSON Web Token expires; never if it is something else."""
    try:
        claims = token.split(".")[1]
        content = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return datetime.fromtimestamp(content["exp"], UTC)
    except (IndexError, KeyError, TypeError, ValueError):
        return datetime.max.replace(tzinfo=UTC)


def _run(plugin: Mapping[str, Any], cluster: Mapping[str, Any]) -> _Given:
    """Runs an exec plugin. One that asks for a login does so on the terminal."""
    command = str(plugin.get("command") or "")
    version = str(plugin.get("apiVersion") or "")
    asks = sys.stdin is not None and sys.stdin.isatty() and plugin.get("interactiveMode") != "Never"
    spec: dict[str, Any] = {"interactive": asks}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = _shown(cluster)
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
    return _read(command, version, ran.stdout)


def _read(command: str, version: str, output: str) -> _Given:
    """What a plugin prints: an ExecCredential."""
    try:
        answer = json.loads(output)
        status = answer["status"]
        token, until = str(status.get("token") or ""), status.get("expirationTimestamp")
        pair = [str(status.get(key) or "").encode() for key in ("clientCertificateData", "clientKeyData")]
        given = _Given(token, Certificate(*pair) if all(pair) else None, _moment(until) if until else None)
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


def _shown(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """A cluster of a kubeconfig as exec plugins are given it."""
    found = {key: cluster[key] for key in _CLUSTER_KEYS if key in cluster}
    authority = _content(cluster, "certificate-authority")
    if isinstance(authority, Path):
        found["certificate-authority-data"] = base64.b64encode(authority.read_bytes()).decode()
    for one in cluster.get("extensions") or []:
        if one.get("name") == _EXEC_CLUSTER:
            found["config"] = one.get("extension")
    return found


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
