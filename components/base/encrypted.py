"""Keeps encrypted settings encrypted wherever they go: in inputs of resources, in outputs of components and the stack.

Pulumi decrypts settings for the program, and would store in plain text what the program makes of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pulumi

_CONTAINED = 6
"""Shorter texts are only recognized as complete values: they occur by chance in others."""
_SUBJECTS = ("group:", "user:")
"""Prefixes of members of teams in the settings; the cluster knows them without."""
_SIGNATURE = "4dabf18193072939515e22adb298388d"  # marks values that the engine knows as secrets, and assets

_words: frozenset[str] = frozenset()


def keep(words: Iterable[str]) -> None:
    """From now on, the running program's resources store values with these texts encrypted."""
    global _words
    _words = frozenset(part for word in words for part in (word, *_subject(word)))
    if _words:
        pulumi.runtime.register_resource_transform(_encrypt_inputs)


def concealed(value: Any) -> Any:
    """The value, with `pulumi.Output.secret` around every part that has a text of an encrypted setting."""
    if not _words:
        return value
    if isinstance(value, str):
        return pulumi.Output.secret(value) if _is_secret(value) else value
    if isinstance(value, list):
        return [concealed(item) for item in value]
    if isinstance(value, pulumi.Output):
        return value.apply(lambda known: pulumi.Output.from_input(concealed(known)))
    if not isinstance(value, dict) or _SIGNATURE in value:
        return value
    if any(_is_secret(key) for key in value if isinstance(key, str)):
        # A key cannot be encrypted alone.
        return pulumi.Output.secret(value)
    return {key: concealed(item) for key, item in value.items()}


def has_secret(value: Any) -> bool:
    """Whether a text of an encrypted setting is in the value, where nothing marks it as secret."""
    if isinstance(value, str):
        return _is_secret(value)
    if isinstance(value, list):
        return any(map(has_secret, value))
    if not isinstance(value, dict) or _SIGNATURE in value:
        return False
    return any(has_secret(item) for pair in value.items() for item in pair)


def _subject(member: str) -> list[str]:
    return [member.removeprefix(prefix) for prefix in _SUBJECTS if member.startswith(prefix)]


def _is_secret(text: str) -> bool:
    return text in _words or any(len(word) >= _CONTAINED and word in text for word in _words)


def _encrypt_inputs(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
    if not has_secret(args.props):
        return None
    return pulumi.ResourceTransformResult({key: concealed(value) for key, value in args.props.items()}, args.opts)
