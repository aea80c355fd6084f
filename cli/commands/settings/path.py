"""The path of a model in the settings, which decides its page and heading."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

INDEX = "README"
_ROOT = "tensorplane"
_BACKENDS = "volumes.<name>.backend"


@dataclass(frozen=True)
class SettingsPath:
    """A path of keys."""

    path: str = _ROOT
    kind: str = ""
    """The kind of its variant, if another variant has other keys at the same path."""

    @property
    def title(self) -> str:
        return f"`{self.path}`, kind {self.kind}" if self.kind else f"`{self.path}`"

    @property
    def anchor(self) -> str:
        """The anchor that GitHub's renderer gives its heading."""
        return "".join(c for c in self.title.lower().replace(" ", "-") if c.isalnum() or c in "-_")

    @property
    def page(self) -> str:
        """A page for each top-level key, for each kind of cluster, and for the storage backends."""
        if self.path == _ROOT:
            return INDEX
        if self.path.startswith(_BACKENDS):
            return "volume-backends"
        key = re.sub("[A-Z]", lambda capital: f"-{capital[0].lower()}", self.path.partition(".")[0])
        return f"{key}-{self.kind}" if key == "cluster" else key

    def below(self, key: str) -> SettingsPath:
        return replace(self, path=key if self.path == _ROOT else f"{self.path}.{key}")

    def of_kind(self, kind: str) -> SettingsPath:
        return replace(self, kind=kind)
