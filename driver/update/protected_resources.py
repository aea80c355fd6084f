"""Protected resources: whether an update will be refused, and Pulumi's refusals in terms of the settings."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

_REFUSED = re.compile(
    r"(?:(?:preview|update) failed: )?(?:unable to (?P<how>\w+) )?resource \"(?P<urn>urn:pulumi:[^\"]+)\""
    r"(?: as part of replacing \"[^\"]+\")?\s+"
    r"(?:cannot be deleted\s+because it is protected|as it is currently marked for protection)\."
    r".*?(?:`pulumi state unprotect [^`]*`|run\s+`pulumi up`(?!,? or))",
    re.DOTALL | re.IGNORECASE,
)
# A hook's own message is a complete sentence.
_HOOK = re.compile(r'before hook "[^"]+" failed: ')
_PAGE = "docs/data.md#delete-a-volume"


def reword(text: str) -> str:
    """The text with each of Pulumi's refusals as one line about the settings, and hooks' messages without hook names.

    Pulumi's own advice, `pulumi state unprotect`, would only remove the protection of the data.
    """
    return _REFUSED.sub(_explained, _HOOK.sub("", text))


def refusals(text: str) -> list[str]:
    """The refusals in the text, a line each."""
    return [_explained(found) for found in _REFUSED.finditer(text)]


def _explained(found: re.Match[str]) -> str:
    return describe_refusal(found["urn"], replaced=found["how"] == "replace")


def describe_refusal(urn: str, *, replaced: bool) -> str:
    """Why a protected resource is not deleted or replaced, and what to do."""
    *_, chain, name = urn.split("::", 3)
    owners = chain.split("$")
    kind = owners[-1].rpartition(":")[2]
    blocked = f"its {'replacement' if replaced else 'deletion'} is blocked"
    if "tensorplane:index:Volume" in owners or "tensorplane:index:Stream" in owners:
        thing = f"volume {name}" if kind == "PersistentVolumeClaim" else f"{kind} {name}, which holds a volume's data,"
        remedy = "undo the change of its settings, or declare a second volume" if replaced else "declare it again"
        return f"{thing} is protected (retain: true): {blocked}; {remedy}. To delete it on purpose, see {_PAGE}"
    if kind == "Namespace" and "tensorplane:index:Namespace" in owners:
        return (
            f"namespace {name} has protected volumes: {blocked}; "
            f"keep the stack's namespace and these volumes. To delete a volume on purpose, see {_PAGE}"
        )
    if kind == "Namespace":
        return (
            f"namespace {name} is protected (its team has retain: true): {blocked}; declare the team again, "
            "or deploy it with retain: false before you remove it"
        )
    return (
        f"{kind} {name} is protected: {blocked}; undo the change, or before you remove it, deploy "
        "the volume on it with retain: false, or the cluster with deletionProtection: false"
    )


_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"


def has_undeclared(export: dict[str, Any], declared: Collection[str]) -> bool:
    """Whether there is one. `export` is what `pulumi stack export` prints, `declared` are namespace/name."""
    resources = export["deployment"].get("resources") or []
    return any(one["type"] == _CLAIM and one.get("protect") and one["id"] not in declared for one in resources)
