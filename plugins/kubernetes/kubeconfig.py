"""From a kubeconfig (a path, its contents, or the machine's own) to a connection."""

from __future__ import annotations

import copy
import os
import ssl
from pathlib import Path
from typing import Any

import urllib3
import yaml

from kubernetes.client.api_client import ApiClient
from kubernetes.config.config_exception import ConfigException
from tensorplane.core.errors import UserError
from tensorplane.core.kubeconfig import client_of_content
from tensorplane.plugins.kubernetes.settings import Settings

Kubeconfig = dict[str, Any]

_SECTIONS = ("clusters", "contexts", "users")


def load(given: str) -> Kubeconfig:
    """Reads a kubeconfig's path or contents; without either, kubectl's default ($KUBECONFIG, ~/.kube/config)."""
    if not given:
        return _ambient()
    path = Path(given).expanduser() if "\n" not in given and len(given) < os.pathconf("/", "PC_PATH_MAX") else None
    if path is not None and path.is_file():
        return _read(path)
    return _parse(given, "the given contents")


def current_cluster(config: Kubeconfig, context: str = "", cluster: str = "") -> Kubeconfig | None:
    """The server of a kubeconfig, with a `Provider`'s overrides; None if it names none."""
    chosen = _entry(config, "contexts", context or config.get("current-context") or "")
    if chosen is None:
        return None
    found = _entry(config, "clusters", cluster or chosen["context"].get("cluster", ""))
    return found["cluster"] if found else None


def namespace(config: Kubeconfig, context: str = "") -> str:
    """The context's namespace; empty if it sets none."""
    chosen = _entry(config, "contexts", context or config.get("current-context") or "")
    return str(chosen["context"].get("namespace") or "") if chosen else ""


def with_overrides(config: Kubeconfig, settings: Settings) -> Kubeconfig:
    """The kubeconfig with the `Provider`'s context, cluster and namespace selected, for other programs."""
    config = copy.deepcopy(config)
    if settings.context:
        config["current-context"] = settings.context
    chosen = _entry(config, "contexts", config.get("current-context") or "")
    if chosen is not None:
        chosen["context"] |= {"cluster": settings.cluster} if settings.cluster else {}
        chosen["context"] |= {"namespace": settings.namespace} if settings.namespace else {}
    return config


def connect(config: Kubeconfig) -> ApiClient:
    """A client for the kubeconfig's current context."""
    try:
        client = client_of_content(config)
        configuration = client.configuration
        if not configuration.proxy:
            client.rest_client.pool_manager = _pool(configuration)
    except (ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"the kubeconfig cannot be used: {error}") from None
    plugin = _exec_plugin(config)
    if plugin and not configuration.api_key and not configuration.cert_file:
        # The library continues without credentials, after it has written the plugin's error to standard error.
        raise UserError(
            f"the kubeconfig cannot be used: its exec plugin {plugin} returned no credentials; run it to see why"
        )
    return client


def _exec_plugin(config: Kubeconfig) -> str:
    """The exec plugin of the current context's user; empty if it has none."""
    context = _entry(config, "contexts", config.get("current-context") or "")
    user = _entry(config, "users", ((context or {}).get("context") or {}).get("user") or "")
    return str((((user or {}).get("user") or {}).get("exec") or {}).get("command") or "")


def _pool(configuration: Any) -> urllib3.PoolManager:
    """One TLS context for all connections, so that certificates are parsed once."""
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return urllib3.PoolManager(
        maxsize=64,
        ssl_context=context,
        server_hostname=configuration.tls_server_name or None,
        # A request that the server may have executed is not repeated.
        retries=urllib3.Retry(total=3, connect=2, read=2, allowed_methods={"GET"}, backoff_factor=0.2),
    )


def _ambient() -> Kubeconfig:
    """The files of $KUBECONFIG, or ~/.kube/config, as one."""
    locations = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    paths = [Path(part).expanduser() for part in locations.split(os.pathsep) if part]
    files = [file for file in paths if file.is_file() and file.stat().st_size]
    if not files:
        raise UserError(f"no kubeconfig: {locations} does not exist; set the Provider's kubeconfig, or $KUBECONFIG")
    return _merged([_read(file) for file in files])


def _merged(configs: list[Kubeconfig]) -> Kubeconfig:
    """Merges kubeconfigs as kubectl does: the first file with a name, or with the current context, decides."""
    merged: Kubeconfig = {}
    for config in configs:
        for section in _SECTIONS:
            known = merged.setdefault(section, [])
            known += [entry for entry in config.get(section) or [] if not _entry(merged, section, entry.get("name"))]
        merged |= {key: value for key, value in config.items() if key not in _SECTIONS and not merged.get(key)}
    return merged


def _read(file: Path) -> Kubeconfig:
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"kubeconfig: {file} cannot be read: {error}") from None
    return _located(_parse(text, str(file)), file.absolute().parent)


def _parse(text: str, origin: str) -> Kubeconfig:
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError:  # which would show lines of the file, with keys
        config = None
    if not _is_kubeconfig(config):
        raise UserError(f"kubeconfig: {origin} is neither a kubeconfig nor a path to one")
    return dict(config)


def _is_kubeconfig(config: Any) -> bool:
    """Whether maps and lists are where they belong. One of several files may have only a part, such as users."""
    if not isinstance(config, dict) or not (config.get("kind") == "Config" or "clusters" in config):
        return False
    sections = {name: config.get(name) or [] for name in _SECTIONS}
    return all(
        isinstance(entries, list)
        and all(isinstance(entry, dict) and isinstance(entry.get(name[:-1]), dict) for entry in entries)
        for name, entries in sections.items()
    )


def _located(config: Kubeconfig, folder: Path) -> Kubeconfig:
    """Resolves the file names in a kubeconfig, which are relative to its own folder."""
    for entry in [*(config.get("clusters") or []), *(config.get("users") or [])]:
        for section in (entry.get("cluster"), entry.get("user")):
            for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
                if section and section.get(key):
                    section[key] = str(folder / section[key])
        plugin = (entry.get("user") or {}).get("exec") or {}
        if os.sep in str(plugin.get("command") or ""):
            plugin["command"] = os.path.normpath(folder / plugin["command"])
    return config


def _entry(config: Kubeconfig, section: str, wanted: str) -> Kubeconfig | None:
    return next((entry for entry in config.get(section) or [] if entry.get("name") == wanted), None)
