"""The extras of the installed package, such as `tensorplane[dev]`: what is missing of them, and how to get it.

In a checkout, whose environment the Makefile makes, the package is not installed, and nothing is missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

from tensorplane.core.errors import UserError
from tensorplane.version import __version__

if TYPE_CHECKING:  # a checkout's first environment does not have it
    from packaging.requirements import Requirement

PACKAGE = "tensorplane"
_PROVIDERS = {"google": "protobuf", "grpc": "grpcio", "jsonpath": "python-jsonpath"}
"""The packages of modules with another name."""


def require(*extras: str) -> None:
    """A UserError with a line for each of these extras of which something is missing."""
    lines = [_line(extra, missing) for extra in extras if (missing := [each.name for each in _missing(extra)])]
    if lines:
        raise UserError(*lines)


def explain(error: ModuleNotFoundError) -> str:
    """The line about a module that comes with an extra; empty if it comes with none."""
    module = (error.name or "").partition(".")[0]
    for extra in _extras():
        for each in _missing(extra):
            if _canonical(each.name) == _canonical(_PROVIDERS.get(module, module)):
                return _line(extra, [each.name])
    return ""


def pinned(extra: str) -> str:
    """The requirement that gives others an extra of the version that runs here: from an index, or from its origin."""
    address = _origin()
    # A file of this machine is of no use elsewhere.
    is_index = not address or address.startswith("file:")
    return f"{PACKAGE}[{extra}]" + (f"=={__version__}" if is_index else f" @ {address}")


def _line(extra: str, missing: list[str]) -> str:
    is_missing = "is missing or has" if len(missing) == 1 else "are missing or have"
    whole, address = f"{PACKAGE}[{extra}]", _origin()
    wanted = f"{whole} @ {address}" if address else whole
    return f"{whole}: {', '.join(missing)} {is_missing} another version; run: pip install '{wanted}'"


def _origin() -> str:
    """The address that the package was installed from: of a repository or a file; empty if from an index."""
    try:
        origin = json.loads(metadata.distribution(PACKAGE).read_text("direct_url.json") or "{}")
    except metadata.PackageNotFoundError:
        return ""
    url, repository = str(origin.get("url", "")), origin.get("vcs_info")
    return f"{repository['vcs']}+{url}@{repository['commit_id']}" if repository else url


def _missing(extra: str) -> list[Requirement]:
    return [each for each in _requirements(extra) if not _is_installed(each)]


def _requirements(extra: str) -> Iterator[Requirement]:
    """What an extra adds, without what the package itself needs."""
    try:
        lines = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return
    from packaging.requirements import Requirement

    for each in map(Requirement, lines):
        if each.marker and each.marker.evaluate({"extra": extra}) and not each.marker.evaluate({"extra": ""}):
            if _canonical(each.name) != PACKAGE:
                yield each
            for inner in sorted(each.extras) if _canonical(each.name) == PACKAGE else ():
                yield from _requirements(inner)


def _extras() -> list[str]:
    """All of them, those that bring least first."""
    try:
        found = metadata.metadata(PACKAGE).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return []
    return sorted(found, key=lambda extra: len(list(_requirements(extra))))


def _is_installed(requirement: Requirement) -> bool:
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False


def _canonical(name: str) -> str:
    return name.replace("_", "-").lower()
