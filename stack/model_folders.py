"""The section `workloads` of a stack's file for those who read its servers without its jobs."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tensorplane.workloads.kinds import WorkloadArgs
from tensorplane.workloads.model_server import model_sources
from tensorplane.workloads.model_server.settings import ServedModel, ServerSettings

_FROM = "from"


def spelled_out(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section with volumes and paths in place of the jobs that models come `from`; names of no job stay."""
    if not any(_FROM in model for tree in section.values() for model in _models(tree)):
        return dict(section)
    valid = {name: one for name, tree in section.items() if (one := _valid(tree)) is not None}
    resolved = model_sources.resolved(valid)
    return {name: _spelled(tree, resolved.get(name)) for name, tree in section.items()}


def _models(tree: Any) -> list[Mapping[str, Any]]:
    """Those of a server."""
    if not isinstance(tree, Mapping):
        return []
    several = tree.get("models")
    found = [tree.get("model"), *(several.values() if isinstance(several, Mapping) else ())]
    return [model for model in found if isinstance(model, Mapping)]


def _valid(tree: Any) -> WorkloadArgs | None:
    kind = WorkloadArgs.variants.get(str(tree.get("kind"))) if isinstance(tree, Mapping) else None
    try:
        found = kind and kind.model_validate(tree, by_alias=True, by_name=False)
    except ValidationError:
        return None
    return found if isinstance(found, WorkloadArgs) else None


def _spelled(tree: Any, server: WorkloadArgs | None) -> Any:
    if not isinstance(server, ServerSettings):
        return tree
    if server.model:
        return {**tree, "model": _with_folder(tree["model"], server.model)}
    if server.models:
        return {
            **tree,
            "models": {name: _with_folder(tree["models"][name], one) for name, one in server.models.items()},
        }
    return tree


def _with_folder(tree: Mapping[str, Any], model: ServedModel) -> dict[str, Any]:
    folder = model.location if model.from_job else None
    others = {key: value for key, value in tree.items() if key != _FROM or folder is None}
    return {**others, "volume": folder.volume, "path": folder.path} if folder else others
