"""What never changes of a volume's claim: the engine refuses it, also in a preview, before the API server does."""

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi

from components.base.quantities import exact

_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"

REMEDY = "remove `from`, which only applies to new volumes, or declare another volume with it and mount that one"
"""What to do about a `from` that comes too late."""

Object = Mapping[str, Any]


def hook() -> pulumi.ResourceHook:
    """What the engine calls before it updates a claim."""

    def before(args: pulumi.ResourceHookArgs) -> None:
        # Other resources of a volume may have the claim's options.
        if args.type == _CLAIM and (wrong := list(faults(args.name, args.old_inputs or {}, args.new_inputs or {}))):
            raise RuntimeError("; ".join(wrong))

    options = pulumi.ResourceHookOptions(on_dry_run=True)
    return pulumi.ResourceHook("what never changes of a volume", before, options)


def faults(name: str, old: Object, new: Object) -> Iterator[str]:
    """A sentence for each thing that a claim cannot become. One whose settings leave `from` out is as it was."""
    before, after = old.get("spec", {}), new.get("spec", {})
    origin, wanted = before.get("dataSource"), after.get("dataSource")
    if wanted and wanted != origin:
        yield (f"tensorplane:volumes.{name}.from: is {wanted.get('name')}, but volume {name} already exists; {REMEDY}")
    has, asked = (_size(spec) for spec in (before, after))
    if has and asked and exact(asked) < exact(has):
        yield f"tensorplane:volumes.{name}.sizeGib: {asked} is less than the current {has}; volumes cannot shrink"


def _size(spec: Object) -> str | None:
    found = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    return str(found) if found else None
