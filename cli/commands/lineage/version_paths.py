"""What a command's argument, or an input in a record, names: versions in a folder of a volume. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.cli.commands.cp import paths
from tensorplane.cli.commands.cp.paths import VolumePath
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.stack_file.nearest import did_you_mean


@dataclass(frozen=True)
class VersionPath:
    """A version of a dataset or a model, as somebody names it."""

    name: str
    """For people."""
    volume: str
    path: str
    reference: str = ""
    """Empty for the newest."""

    @property
    def folder(self) -> str:
        """The folder of its versions, as arguments name it."""
        return f"{self.volume}:/{self.path}"


def from_argument(text: str, resolved: ResolvedStack) -> VersionPath:
    """What an argument names. A UserError if it is nothing of the stack."""
    name, _, reference = text.partition("@")
    if isinstance(found := paths.parsed(name), VolumePath):
        return VersionPath(name, found.volume, found.path, reference)
    candidates = [each for each in (_datasets(resolved).get(name), _models(resolved).get(name)) if each]
    if len(candidates) > 1:
        raise UserError(f"{name}: is a dataset and a workload; write {candidates[0].folder} or {candidates[1].folder}")
    if not candidates:
        names = sorted({*_datasets(resolved), *_models(resolved)})
        have = f"choose one of {', '.join(names)}{did_you_mean(name, names)}, or" if names else "write"
        raise UserError(f"{name}: no model and no dataset has this name; {have} VOLUME:/PATH")
    return VersionPath(candidates[0].name, candidates[0].volume, candidates[0].path, reference)


def from_record(each: Mapping[str, Any], resolved: ResolvedStack) -> VersionPath | None:
    """What an entry of a record's `inputs` names; None if it is nothing of the stack."""
    version = str(each.get("commit") or each.get("version") or "")
    if model := each.get("model"):
        found = paths.parsed(str(model))
        return VersionPath(str(model), found.volume, found.path, version) if isinstance(found, VolumePath) else None
    name, declared = str(each.get("dataset")), _datasets(resolved)
    volume, path = each.get("volume"), each.get("path")
    if volume and path:
        of_stack = next((one.name for one in declared.values() if (one.volume, one.path) == (volume, path)), name)
        return VersionPath(of_stack, str(volume), str(path), version)
    return VersionPath(name, declared[name].volume, declared[name].path, version) if name in declared else None


def _datasets(resolved: ResolvedStack) -> dict[str, VersionPath]:
    return {name: VersionPath(name, one.volume, one.folder(name)) for name, one in resolved.config.datasets.items()}


def _models(resolved: ResolvedStack) -> dict[str, VersionPath]:
    """Folders of servers' models, and of those that training jobs write."""
    written = {name: folder for name, one in resolved.workloads.items() if (folder := one.models_written) is not None}
    folders = {**written, **resolved.models}
    return {name: VersionPath(name, folder.volume, folder.path) for name, folder in folders.items()}
