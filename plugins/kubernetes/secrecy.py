"""Keeps secret inputs secret in the outputs, and out of messages."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterable
from typing import Any

from tensorplane.plugins.kubernetes.values import Properties, Secret, has_secret

# The API server quotes the request's body, secrets included, when it cannot parse it.
_QUOTED_BODY = re.compile(r",? ?error found in #\d+ byte of .*", re.DOTALL)


def mark(outputs: Properties, inputs: Properties) -> None:
    """Marks in `outputs` what is secret in `inputs`, key by key, and always the contents of a `Secret`.

    A list with a secret becomes secret entirely: its order may change on the server.
    """
    if outputs.get("kind") == "Secret":
        for field in ("data", "stringData"):
            if field in outputs and not isinstance(outputs[field], Secret):
                outputs[field] = Secret(outputs[field])
    for key, given in inputs.items():
        found = outputs.get(key)
        if key not in outputs or isinstance(found, Secret):
            continue
        if isinstance(found, dict) and isinstance(given, dict):
            mark(found, given)
        elif has_secret(given):
            outputs[key] = Secret(found)


def redact(message: str, secrets: Iterable[str]) -> str:
    """The message without any of `secrets`, plain or in base64."""
    message = _QUOTED_BODY.sub("", message)
    for secret in sorted({form for text in secrets for form in _forms(text)}, key=len, reverse=True):
        message = message.replace(secret, "[secret]")
    return message


def _forms(text: str) -> list[str]:
    forms = [text, base64.b64encode(text.encode()).decode()]
    with contextlib.suppress(ValueError):
        forms.append(base64.b64decode(text, validate=True).decode())
    # Shorter texts are words like "true" or "80" that appear in messages by chance.
    return [form for form in forms if len(form) > 3]


def contents(obj: dict[str, Any]) -> list[str]:
    """The values of a `Secret` object, which are secret whether marked or not."""
    if obj.get("kind") != "Secret":
        return []
    fields = [obj.get("data"), obj.get("stringData")]
    return [value for field in fields if isinstance(field, dict) for value in field.values() if isinstance(value, str)]
