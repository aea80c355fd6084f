"""pip's configuration in uv's words: packages come from the index, the proxy and the certificates of pip's.

As a program, it installs what its arguments name into its own environment, where only uv is installed so far.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping

_UV_VARIABLES: Mapping[str, str] = {
    "index-url": "UV_DEFAULT_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "trusted-host": "UV_INSECURE_HOST",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "retries": "UV_HTTP_RETRIES",
}
_NO_MATTER = frozenset(
    ("cache-dir", "disable-pip-version-check", "no-input", "progress-bar", "quiet", "require-virtualenv", "verbose")
)
"""What changes nothing of what is installed, or from where."""


def for_uv(configuration: str) -> dict[str, str] | None:
    """The variables of uv that say what `pip config list` printed; None if uv has no word for one of the settings."""
    found: dict[str, str] = {}
    for line in configuration.splitlines():
        # `global.index-url='…'`, `install.find-links='…'`, `:env:.cert='…'`: the last one counts, as for pip.
        name, _, value = line.partition("=")
        command, _, key = name.rpartition(".")
        if command not in ("global", "install", ":env:") or key in _NO_MATTER:
            continue
        if key not in _UV_VARIABLES:
            return None
        words = str(ast.literal_eval(value)).split()
        found[_UV_VARIABLES[key]] = ("," if key == "find-links" else " ").join(words)
    return found


def installer(python: str, configuration: str) -> tuple[list[str], dict[str, str]]:
    """What installs into this Python's environment, and its variables: uv, or pip where uv cannot take pip's place.

    uv takes a tenth of pip's processor time, most of which compiles modules that nobody imports.
    `configuration`: as `for_uv`.
    """
    settings = for_uv(configuration)
    if settings is None:
        pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
        return [python, *pip, "--no-compile"], {}
    return [sys.executable, "-m", "uv", "pip", "install", "--python", python], settings


def main() -> int:
    """Installs what the arguments name."""
    configuration = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True
    ).stdout
    command, settings = installer(sys.executable, configuration)
    return subprocess.run([*command, *sys.argv[1:]], env={**os.environ, **settings}).returncode


if __name__ == "__main__":
    sys.exit(main())
