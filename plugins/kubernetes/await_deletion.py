"""What delays an object's deletion: its finalizers, or the content of a namespace."""

from __future__ import annotations

from tensorplane.plugins.kubernetes.await_result import Object, dig, explain, full_name, is_true


def status(obj: Object) -> str:
    return "; ".join([f"Waiting for {obj['kind']} {full_name(obj)!r} to be gone", *reasons(obj)])


def reasons(obj: Object) -> list[str]:
    """A namespace's conditions are True while they delay its deletion."""
    conditions = dig(obj, "status", "conditions", default=()) if obj["kind"] == "Namespace" else ()
    found = [line for cond in conditions if is_true(cond) for line in explain(cond)]
    finalizers = dig(obj, "metadata", "finalizers", default=())
    if finalizers:
        found.append(f"finalizers might be preventing deletion ({', '.join(finalizers)})")
    return found
