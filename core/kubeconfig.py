"""Which cluster: clients of the Kubernetes API from kubeconfigs, whose keys stay in memory.

Kubernetes' client writes certificates and keys of a kubeconfig to temporary files, because TLS only reads files, and
removes them when the program exits. Here these files are in memory, and end with the program: a killed one leaves none.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tensorplane.core.errors import UserError

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_NOT_A_KUBECONFIG = (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError)
"""What Kubernetes' client raises for a file that is no kubeconfig, apart from ConfigException."""
_OPEN_FILES = Path("/proc/self/fd")
"""The paths of this program's open files, where the system has them: on Linux."""


def client_of(kubeconfig: Path | None, context: str | None = None) -> ApiClient:
    """The client of a file's cluster. `kubeconfig`: None for kubectl's own. `context`: None for the current one."""
    config = _config()
    try:
        return config.new_client_from_config(str(kubeconfig) if kubeconfig else None, context or None)
    except (config.ConfigException, *_NOT_A_KUBECONFIG) as error:
        file = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
        chosen = f"context {context}" if context else "its current context"
        raise UserError(f"kubeconfig {file}, {chosen}: {_unreadable(error)}") from None


def client_of_text(kubeconfig: str, context: str | None = None) -> ApiClient:
    """The client of the cluster in a kubeconfig's text."""
    config = _config()
    try:
        return client_of_content(yaml.safe_load(kubeconfig), context)
    except (config.ConfigException, *_NOT_A_KUBECONFIG) as error:
        raise UserError(f"the stack's kubeconfig: {_unreadable(error)}") from None


def client_of_content(kubeconfig: dict[str, Any], context: str | None = None) -> ApiClient:
    """The client of the cluster in a kubeconfig's content. Raises what Kubernetes' client raises."""
    return _config().new_client_from_config_dict(kubeconfig, context=context)


def context_of_user(name: str = "") -> dict[str, Any]:
    """A context of kubectl's own kubeconfig: cluster, user, namespace, extensions. `name`: the current one if empty.

    Empty if there is no such context. A UserError with the reason if the file cannot be used.
    """
    config = _config()
    try:
        contexts, current = config.list_kube_config_contexts()
        chosen = next((one for one in contexts if one["name"] == name), None) if name else current
        return dict((chosen or {}).get("context") or {})
    except config.ConfigException as error:
        raise UserError(str(error)) from None
    except _NOT_A_KUBECONFIG:
        raise UserError("your kubeconfig cannot be read") from None


def _unreadable(error: Exception) -> str:
    """What is wrong with a kubeconfig, on one line, and what to do."""
    reason = "it is not a kubeconfig" if isinstance(error, _NOT_A_KUBECONFIG) else " ".join(str(error).split())
    return f"{reason.rstrip('.')}; compare it with: kubectl config get-contexts"


def _config() -> Any:
    """Kubernetes' module for kubeconfigs, which keeps keys in memory then."""
    # Imported only where a cluster is reached: it takes a large part of a second.
    from kubernetes import config
    from kubernetes.config import kube_config

    # It has an argument for another folder, but none for no files. Where the system has no files in memory, its files
    # are on disk, and only the user can read them.
    if _OPEN_FILES.is_dir():
        kube_config._create_temp_file_with_content = _in_memory
    return config


@functools.cache
def _in_memory(content: bytes | str, folder: str | None = None, force_recreate: bool = False) -> str:
    """The path of a file with this content. It stays open until the program ends: each connection reads it.

    The parameters are those of the function of Kubernetes' client that this one replaces.
    """
    file = os.memfd_create("kubeconfig")
    os.write(file, content.encode() if isinstance(content, str) else content)
    return str(_OPEN_FILES / str(file))
