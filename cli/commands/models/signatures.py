"""The signatures of a model: inputs and outputs with their types and shapes, as its SavedModel names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType

from tensorplane.cli.output.tables import table
from tensorplane.cli.serving.server import Server

_INTERNAL = "__saved_model"
"""Prefix of signatures that TensorFlow adds for itself."""
_SIDES = ("inputs", "outputs")

Signatures = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""By signature, by `inputs` and `outputs`, by name: `dtype`, and `shape`, which is None where the rank is unknown."""


def of(server: Server, model: str) -> Signatures:
    """Those of the newest version that is served. A UserError if there is none."""
    return read(server.ask(model, "/metadata"))


def read(metadata: Mapping[str, Any]) -> Signatures:
    """Those of an answer of the REST API to `/metadata`."""
    found = metadata["metadata"]["signature_def"]["signature_def"]
    return {
        name: {side: {key: _tensor(one) for key, one in sorted(found[name].get(side, {}).items())} for side in _SIDES}
        for name in sorted(found)
        if not name.startswith(_INTERNAL)
    }


def _tensor(info: Mapping[str, Any]) -> dict[str, Any]:
    shape = info.get("tensor_shape") or {}
    sizes = None if shape.get("unknown_rank") else [int(dim["size"]) for dim in shape.get("dim") or ()]
    return {"dtype": info["dtype"], "shape": sizes}


def render(signatures: Signatures) -> RenderableType:
    """The table: -1 is any size."""
    rows = [
        (name, side.removesuffix("s"), key, tensor["dtype"], _shape(tensor["shape"]))
        for name, sides in signatures.items()
        for side in _SIDES
        for key, tensor in sides[side].items()
    ]
    return table(("signature", "", "name", "dtype", "shape"), rows)


def _shape(sizes: list[int] | None) -> str:
    return "any" if sizes is None else f"({', '.join(map(str, sizes))})"
