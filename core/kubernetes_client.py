"""Clients of the Kubernetes API whose keys stay in memory, so that a killed program leaves none in a file.

Kubernetes' client writes certificates and keys of a kubeconfig to temporary files, because TLS only reads files, and
removes them when the program exits. Here these files are in memory, and end with the program.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

_OPEN_FILES = Path("/proc/self/fd")
"""The paths of this program's open files, where the system has them: on Linux."""


def of_file(kubeconfig: str | None, context: str | None) -> Any:
    """An ApiClient. `kubeconfig`: a path; None: kubectl's own. `context`: None: the current one."""
    return _config().new_client_from_config(kubeconfig, context)


def of_content(kubeconfig: dict[str, Any], context: str | None = None) -> Any:
    """An ApiClient. `kubeconfig`: what the file has. `context`: None: the current one."""
    return _config().new_client_from_config_dict(kubeconfig, context=context)


def _config() -> Any:
    # Imported only where a cluster is reached: it takes a large part of a second.
    from kubernetes import config
    from kubernetes.config import kube_config

    if _OPEN_FILES.is_dir():
        # It has an argument for another folder, but none for no files. Other systems keep its files, which only the
        # user can read.
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
