"""From a kubeconfig (a path, its contents, or the machine's own) to a connection."""

from __future__ import annotations

import copy
import os
import ssl
import tempfile
from pathlib import Path
from typing import Any

import urllib3
import yaml
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from embedded.fault import Fault
from embedded.provider.settings import Settings

Kubeconfig = dict[str, Any]


def load(given: str) -> Kubeconfig:
    """Reads a kubeconfig's path or contents; given nothing, what kubectl would use ($KUBECONFIG, ~/.kube/config)."""
    if not given:
        return _ambient()
    path = Path(given).expanduser() if "\n" not in given and len(given) < os.pathconf("/", "PC_PATH_MAX") else None
    if path is not None and path.is_file():
        return _located(_parse(path.read_text(), str(path)), path.parent)
    return _parse(given, "the given contents")


def current_cluster(config: Kubeconfig, context: str = "", cluster: str = "") -> Kubeconfig | None:
    """The server that a kubeconfig points to, with a `Provider`'s overrides; None when it names none."""
    chosen = _named(config, "contexts", context or config.get("current-context") or "")
    if chosen is None:
        return None
    found = _named(config, "clusters", cluster or chosen["context"].get("cluster", ""))
    return found["cluster"] if found else None


def namespace(config: Kubeconfig, context: str = "") -> str:
    """The namespace that the context sets, empty when it sets none."""
    chosen = _named(config, "contexts", context or config.get("current-context") or "")
    return str(chosen["context"].get("namespace") or "") if chosen else ""


def with_overrides(config: Kubeconfig, settings: Settings) -> Kubeconfig:
    """The kubeconfig with the `Provider`'s context, cluster and namespace chosen in it, as other programs take it."""
    config = copy.deepcopy(config)
    if settings.context:
        config["current-context"] = settings.context
    chosen = _named(config, "contexts", config.get("current-context") or "")
    if chosen is not None:
        chosen["context"] |= {"cluster": settings.cluster} if settings.cluster else {}
        chosen["context"] |= {"namespace": settings.namespace} if settings.namespace else {}
    return config


def connect(config: Kubeconfig) -> ApiClient:
    """A client for the kubeconfig's current context. Keys it holds are on disk only while they are being read."""
    configuration = Configuration()
    with tempfile.TemporaryDirectory() as keys:
        try:
            loader = KubeConfigLoader(config_dict=config, temp_file_path=keys)
            loader.load_and_set(configuration)
            client = ApiClient(configuration)
            if not configuration.proxy:
                client.rest_client.pool_manager = _pool(configuration)
        except (ConfigException, ssl.SSLError, TypeError, KeyError) as error:
            raise Fault(f"the kubeconfig cannot be used: {error}") from None
    return client


def _pool(configuration: Any) -> urllib3.PoolManager:
    """One TLS context for all connections: the key files can go, and no connection parses the certificates again."""
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
        # A request that the server may have carried out is not sent again.
        retries=urllib3.Retry(total=3, connect=2, read=2, allowed_methods={"GET"}, backoff_factor=0.2),
    )


def _ambient() -> Kubeconfig:
    locations = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    existing = os.pathsep.join(
        part for part in locations.split(os.pathsep) if part and Path(part).expanduser().is_file()
    )
    if not existing:
        raise Fault(f"no kubeconfig: {locations} does not exist; set the Provider's kubeconfig, or $KUBECONFIG")
    try:
        merged = KubeConfigMerger(existing).config
    except (ConfigException, yaml.YAMLError) as error:
        raise Fault(f"{existing}: not a kubeconfig: {error}") from None
    value: Kubeconfig = merged.value
    return value


def _parse(text: str, origin: str) -> Kubeconfig:
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError:
        config = None
    if not isinstance(config, dict) or "clusters" not in config:
        raise Fault(f"kubeconfig: {origin} is neither a kubeconfig nor the path of one")
    return config


def _located(config: Kubeconfig, folder: Path) -> Kubeconfig:
    """Resolves the file names in a kubeconfig, which are relative to its own folder."""
    for entry in [*config.get("clusters", []), *config.get("users", [])]:
        for section in (entry.get("cluster"), entry.get("user")):
            for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
                if section and section.get(key):
                    section[key] = str(folder / section[key])
    return config


def _named(config: Kubeconfig, section: str, wanted: str) -> Kubeconfig | None:
    return next((entry for entry in config.get(section) or [] if entry.get("name") == wanted), None)
