"""Turns the API server's errors into lines for people: one per problem, without repetitions and secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tensorplane.core.errors import ApiError, UserError
from tensorplane.plugins.kubernetes import secrecy
from tensorplane.plugins.kubernetes.values import secret_texts

_UNKNOWN_FIELD = re.compile(r'(?:unknown|duplicate) field "[^"]*"')
_UNDECLARED = re.compile(r"(?:\.[^\s:]+): field not declared in schema")
_MANAGER = re.compile(r'conflict with "([^"]+)"')

_EXISTS = (
    "rename with an alias, adopt it with `pulumi import`, manage some of its fields with a Patch resource, "
    "or set upsertExistingObjects on the Provider"
)


def lines(error: ApiError, properties: Any = None) -> list[str]:
    """The problems in an error. Secrets in `properties` are masked."""
    texts = _refused_fields(error) or _conflicts(error) or _causes(error) or [error.message]
    hidden = [*secret_texts(properties), *(secrecy.contents(properties) if isinstance(properties, dict) else [])]
    return [secrecy.redact(" ".join(text.split()), hidden) for text in texts]


def user_error(headline: str, error: ApiError, properties: Any = None) -> UserError:
    """An error for a resource: one line, or a headline and a line per problem."""
    found = lines(error, properties)
    if error.exists:
        found = [f"{found[0]}: {_EXISTS}"]
    return UserError(f"{headline}: {found[0]}") if len(found) == 1 else UserError(f"{headline}:", *_indent(found))


def _indent(texts: Iterable[str]) -> list[str]:
    return [f"  {text}" for text in texts]


def _refused_fields(error: ApiError) -> list[str]:
    """Strict validation names every unknown field in one long sentence."""
    if "strict decoding error" in error.message:
        return sorted(_UNKNOWN_FIELD.findall(error.message))
    undeclared = _UNDECLARED.findall(error.message)
    return [f'unknown field "{text.split(":")[0].lstrip(".")}"' for text in undeclared]


def _conflicts(error: ApiError) -> list[str]:
    """Fields that other managers own, a line per manager."""
    if not error.conflict:
        return []
    owned: dict[str, list[str]] = {}
    for cause in error.causes:
        manager = _MANAGER.search(cause.get("message", ""))
        owned.setdefault(manager.group(1) if manager else "someone else", []).append(cause.get("field", "").lstrip("."))
    return [
        f'{", ".join(fields)}: owned by field manager "{manager}"; leave it to it (drop the field or use '
        'ignore_changes), or take it over with the annotation pulumi.com/patchForce: "true"'
        for manager, fields in owned.items()
    ]


def _causes(error: ApiError) -> list[str]:
    """`Invalid` errors list each problem with its field."""
    if error.reason != "Invalid":
        return []
    return [f"{cause['field']}: {cause.get('message', '')}" for cause in error.causes if cause.get("field")]
