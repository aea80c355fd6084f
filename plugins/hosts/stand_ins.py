"""The clouds whose providers the preview-only one replaces, and its launchers, which exist for one preview.

A plain `pulumi up` never finds a launcher, and the provider itself refuses everything but previews.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tensorplane.toolchain import launchers, pulumi_plugins

_MODULE = "tensorplane.plugins.preview"


@dataclass(frozen=True)
class Cloud:
    """One cloud's package, and where the cloud's tools look for credentials."""

    package: str
    variables: tuple[str, ...]
    """Environment variables, each of which contains credentials or selects them."""
    files: tuple[tuple[str, str, str], ...]
    """Files with credentials: the variable with the file's or folder's path, the default path, a file in the folder."""

    def has_credentials(self, environment: Mapping[str, str]) -> bool:
        """Whether credentials are configured, valid or not. A machine identity is not visible here."""
        home = Path(environment.get("HOME") or Path.home())
        paths = (Path(environment.get(variable) or home / path) / file for variable, path, file in self.files)
        return any(environment.get(name) for name in self.variables) or any(path.is_file() for path in paths)

    @property
    def has_plugin(self) -> bool:
        """Whether Pulumi's own plugin is on this machine."""
        return bool(
            pulumi_plugins.on_path(f"pulumi-resource-{self.package}") or pulumi_plugins.cached("resource", self.package)
        )

    def unreachable(self, environment: Mapping[str, str] = os.environ) -> str:
        """Why previews cannot ask the cloud; empty if they can."""
        if not self.has_plugin:
            return "Pulumi's plugin is not installed"
        return "" if self.has_credentials(environment) else "there are no credentials"

    @property
    def has_sdk(self) -> bool:
        return importlib.util.find_spec(f"pulumi_{self.package.replace('-', '_')}") is not None


CLOUDS = (
    Cloud(
        "aws",
        (
            "AWS_ACCESS_KEY_ID",
            "AWS_PROFILE",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        ),
        (("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", ""),),
    ),
    Cloud(
        "gcp",
        ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "GOOGLE_OAUTH_ACCESS_TOKEN"),
        (("CLOUDSDK_CONFIG", ".config/gcloud", "application_default_credentials.json"),),
    ),
    Cloud(
        "azure-native",
        ("ARM_CLIENT_ID", "ARM_USE_MSI", "ARM_USE_OIDC", "AZURE_CLIENT_ID"),
        (("AZURE_CONFIG_DIR", ".azure", "azureProfile.json"),),
    ),
)


def needed(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Each package that requires a stand-in, and why: Pulumi's plugin or the credentials are missing."""
    found = {cloud.package: cloud.unreachable(environment) for cloud in CLOUDS if cloud.has_sdk}
    return {package: why for package, why in found.items() if why}


@contextmanager
def on_path(packages: Iterable[str], path: str) -> Iterator[str]:
    """A PATH with stand-ins for these packages in front, while the context lasts."""
    with tempfile.TemporaryDirectory(prefix="tensorplane-stand-ins-") as folder:
        for package in packages:
            launcher = Path(folder) / f"pulumi-resource-{package}"
            launchers.write(launcher, _MODULE, package, note="for one preview")
        yield os.pathsep.join([folder, path])
