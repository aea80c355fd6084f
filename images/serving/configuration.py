"""The model config file: which models, which of their versions, and their labels (model_server_config.proto)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from .error import invalid_argument


@dataclass(frozen=True)
class Policy:
    """Which of the versions in a model's folder are served."""

    latest: int | None = 1
    """So many of the newest; None: all, or those of `specific`."""
    specific: Collection[int] | None = None

    def choose(self, found: Collection[int]) -> list[int]:
        """The versions to serve of those in the folder, the oldest first."""
        if self.specific is not None:
            return sorted(set(self.specific) & set(found))
        return sorted(found)[-self.latest :] if self.latest else sorted(found)


@dataclass(frozen=True)
class ServedModel:
    """One model."""

    name: str
    folder: Path
    policy: Policy = Policy()
    labels: Mapping[str, int] = field(default_factory=dict)


def parse(text: str) -> list[ServedModel]:
    """The models of a file in the text format. A ServingError if it is none."""
    try:
        parsed = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    except text_format.ParseError as error:
        raise invalid_argument(f"model config file: {error}") from error
    return from_message(parsed)


def from_message(parsed: model_server_config_pb2.ModelServerConfig) -> list[ServedModel]:
    """The models of a message. A ServingError as that of server_core.cc."""
    if parsed.WhichOneof("config") == "custom_model_config":
        raise invalid_argument("custom_model_config: the stand-in has no custom models")
    found = [_served(one) for one in parsed.model_config_list.config]
    names = [one.name for one in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise invalid_argument(f"Illegal to list model {twice[0]} multiple times in config list")
    return found


def _served(one: model_server_config_pb2.ModelConfig) -> ServedModel:
    if not one.name:
        raise invalid_argument("Missing name for model")
    if not Path(one.base_path).is_absolute():
        raise invalid_argument(
            f"Expected model {one.name} to have an absolute path or URI; got base_path()={one.base_path}"
        )
    return ServedModel(one.name, Path(one.base_path), _policy(one), dict(one.version_labels))


def _policy(one: model_server_config_pb2.ModelConfig) -> Policy:
    chosen = one.model_version_policy
    match chosen.WhichOneof("policy_choice"):
        case "specific":
            return Policy(None, tuple(chosen.specific.versions))
        case "all":
            return Policy(None)
        case "latest":
            return Policy(chosen.latest.num_versions or 1)
        case _:
            return Policy()
