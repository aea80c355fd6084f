"""The provider's configuration, from the `Provider` resource (or `kubernetes:` config) and the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorplane.core.errors import UserError

_PREFIX = "kubernetes:config:"


@dataclass(frozen=True)
class Settings:
    """The arguments of `Configure`, by the names in the SDK's `Provider`."""

    kubeconfig: str = ""
    context: str = ""
    cluster: str = ""
    namespace: str = ""
    delete_unreachable: bool = False
    skip_update_unreachable: bool = False
    enable_patch_force: bool = False
    upsert_existing_objects: bool = False
    enable_config_map_mutable: bool = False
    enable_secret_mutable: bool = False
    helm_release_settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> Settings:
        """Reads `Configure`'s variables; missing ones may come from environment variables."""
        _refuse_unsupported(variables)
        return cls(
            kubeconfig=variables.get(f"{_PREFIX}kubeconfig", ""),
            context=variables.get(f"{_PREFIX}context", ""),
            cluster=variables.get(f"{_PREFIX}cluster", ""),
            namespace=variables.get(f"{_PREFIX}namespace", ""),
            delete_unreachable=_flag(variables, "deleteUnreachable", "DELETE_UNREACHABLE"),
            skip_update_unreachable=_flag(variables, "skipUpdateUnreachable", "SKIP_UPDATE_UNREACHABLE"),
            enable_patch_force=_flag(variables, "enablePatchForce", "ENABLE_PATCH_FORCE"),
            upsert_existing_objects=_flag(variables, "upsertExistingObjects", "UPSERT_EXISTING_OBJECTS"),
            enable_config_map_mutable=_flag(variables, "enableConfigMapMutable", "ENABLE_CONFIGMAP_MUTABLE"),
            enable_secret_mutable=_flag(variables, "enableSecretMutable", "ENABLE_SECRET_MUTABLE"),
            helm_release_settings=json.loads(variables.get(f"{_PREFIX}helmReleaseSettings") or "{}"),
        )


def _flag(variables: Mapping[str, str], key: str, environment: str, default: str = "false") -> bool:
    return variables.get(_PREFIX + key, os.environ.get(f"PULUMI_K8S_{environment}", default)) == "true"


def _refuse_unsupported(variables: Mapping[str, str]) -> None:
    if not _flag(variables, "enableServerSideApply", "ENABLE_SERVER_SIDE_APPLY", "true"):
        raise UserError(
            "enableServerSideApply: false is not supported: the embedded Kubernetes provider only uses server-side "
            "apply; remove the setting, or install Pulumi's own kubernetes plugin"
        )
    if variables.get(f"{_PREFIX}renderYamlToDirectory"):
        raise UserError(
            "renderYamlToDirectory: the embedded Kubernetes provider does not render YAML; "
            "remove the setting, or install Pulumi's own kubernetes plugin"
        )
