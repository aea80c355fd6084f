"""Whether clients of the stable version can use the canary: its signatures must have the same inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_ANY_SIZE = "-1"


def find_difference(stable: Mapping[str, Any], canary: Mapping[str, Any]) -> str:
    """The first difference that would break a client; empty if there is none. Both: answers of `/metadata`."""
    return next(_differences(_signatures(stable), _signatures(canary)), "")


def _signatures(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = metadata["metadata"]["signature_def"]["signature_def"]
    return found


def _differences(stable: Mapping[str, Any], canary: Mapping[str, Any]) -> Iterator[str]:
    for name, old in stable.items():
        if name.startswith("__"):
            # TensorFlow's own, such as __saved_model_init_op.
            continue
        if name not in canary:
            yield f"has no signature {name}"
            continue
        for side in ("inputs", "outputs"):
            yield from _side_differences(f"{name}: {side[:-1]}", old.get(side, {}), canary[name].get(side, {}), side)


def _side_differences(label: str, old: Mapping[str, Any], new: Mapping[str, Any], side: str) -> Iterator[str]:
    for tensor, was in old.items():
        if tensor not in new:
            yield f"signature {label} {tensor} is missing"
        elif was["dtype"] != new[tensor]["dtype"]:
            yield f"signature {label} {tensor} is {new[tensor]['dtype']}, and {was['dtype']} in the stable version"
        elif not _fits(_shape(was), _shape(new[tensor])):
            shapes = f"{_text(new[tensor])}, and {_text(was)} in the stable version"
            yield f"signature {label} {tensor} has shape {shapes}"
    if side == "inputs" and (added := sorted(set(new) - set(old))):
        yield f"signature {label} {added[0]} is new, and clients do not send it"


def _shape(tensor: Mapping[str, Any]) -> list[str] | None:
    """Sizes as text; None: any shape."""
    shape = tensor.get("tensor_shape", {})
    return None if shape.get("unknown_rank") else [str(dim["size"]) for dim in shape.get("dim", ())]


def _fits(old: list[str] | None, new: list[str] | None) -> bool:
    """Whether all tensors of the old shape are of the new one."""
    if new is None:
        return True
    if old is None or len(old) != len(new):
        return False
    return all(size in (was, _ANY_SIZE) for was, size in zip(old, new, strict=True))


def _text(tensor: Mapping[str, Any]) -> str:
    shape = _shape(tensor)
    return "any" if shape is None else f"[{', '.join('any' if size == _ANY_SIZE else size for size in shape)}]"
