"""Refuses changes of immutable fields of a claim, in previews too, before the API server would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.components.base.quantities import GIB, size, size_bytes
from tensorplane.components.base.sdk import pulumi

_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"

REMEDY = "remove `from`, which only applies to new volumes, or declare another volume with it and mount that one"
"""For `from` on a volume that already exists."""

Object = Mapping[str, Any]


def hook() -> pulumi.ResourceHook:
    """The hook that runs before a claim is updated."""

    def before(args: pulumi.ResourceHookArgs) -> None:
        # Other resources of a volume may inherit the claim's hooks.
        if args.type == _CLAIM and (
            problems := list(find_problems(args.name, args.old_inputs or {}, args.new_inputs or {}))
        ):
            raise RuntimeError("; ".join(problems))

    options = pulumi.ResourceHookOptions(on_dry_run=True)
    return pulumi.ResourceHook("what never changes of a volume", before, options)


def find_problems(name: str, old: Object, new: Object) -> Iterator[str]:
    """A line for each immutable field that would change. Omitting `from` is not a change."""
    before, after = old.get("spec", {}), new.get("spec", {})
    bound_source, declared_source = before.get("dataSource"), after.get("dataSource")
    if declared_source and declared_source != bound_source:
        found = f"is {declared_source.get('name')}, but volume {name} already exists"
        yield f"tensorplane:volumes.{name}.from: {found}; {REMEDY}"
    has, will = (_size(spec) for spec in (before, after))
    if has and will and will < has:
        yield f"tensorplane:volumes.{name}.sizeGib: {cannot_shrink(name, has)}"


def cannot_shrink(name: str, current: int) -> str:
    """Problem and remedy of a volume whose `sizeGib` is less than its current size in bytes."""
    return f"volume {name} has {size(current)} and cannot shrink; set sizeGib to {current / GIB:.12g} or more"


def _size(spec: Object) -> int | None:
    return size_bytes(((spec.get("resources") or {}).get("requests") or {}).get("storage"))
