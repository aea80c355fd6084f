"""The `pulumi.com/…` annotations that control waiting: skipAwait, waitFor, timeoutSeconds.

Documented at https://www.pulumi.com/registry/packages/kubernetes/installation-configuration/ and in pulumi-kubernetes'
CHANGELOG for 4.18.0 (waitFor).
"""

from __future__ import annotations

import json
from collections.abc import Callable

from tensorplane.plugins.kubernetes.await_jsonpath import PREFIX, JsonPath
from tensorplane.plugins.kubernetes.await_result import CheckResult, Object, Related, dig, full_name

SKIP_AWAIT = "pulumi.com/skipAwait"
WAIT_FOR = "pulumi.com/waitFor"
TIMEOUT_SECONDS = "pulumi.com/timeoutSeconds"

Check = Callable[[Object, Related], CheckResult]


def skips_await(obj: Object) -> bool:
    return bool(annotation(obj, SKIP_AWAIT) == "true")


def annotation(obj: Object, key: str) -> str | None:
    value = dig(obj, "metadata", "annotations", key)
    return None if value is None else str(value)


def timeout_seconds(obj: Object, custom: float | None, default: float) -> float:
    """The resource's `customTimeouts`, else the annotation (ignored unless whole seconds), else the default."""
    if custom:
        return custom
    try:
        return float(int(annotation(obj, TIMEOUT_SECONDS) or ""))
    except ValueError:
        return default


def wait_for(obj: Object) -> Check | None:
    """The check of `pulumi.com/waitFor`, None without one. Raises ValueError with a message for the user."""
    text = annotation(obj, WAIT_FOR)
    if not text:
        return None
    tests = [_parse(expression) for expression in _expressions(text)]

    def check(live: Object, related: Related) -> CheckResult:
        answers = [test(live) for test in tests]
        missing = tuple(words for holds, words in answers if not holds)
        if missing:
            return CheckResult(False, f"Waiting for {full_name(live)!r}: {'; '.join(missing)}", missing)
        return CheckResult(True, f"{full_name(live)!r} is ready")

    return check


def _expressions(text: str) -> list[str]:
    try:
        expressions = json.loads(text)
    except ValueError:
        return [text]
    if not isinstance(expressions, list) or not all(isinstance(entry, str) for entry in expressions):
        return [text]
    if not expressions:
        raise ValueError(f"{WAIT_FOR}: at least one condition must be given, got []")
    return expressions


def _parse(expression: str) -> Callable[[Object], tuple[bool, str]]:
    if expression.startswith(PREFIX):
        try:
            path = JsonPath.parse(expression)
        except ValueError as error:
            raise ValueError(f"{WAIT_FOR}: {error}") from None
        return lambda live: _path_holds(path, live)
    if expression.startswith("condition="):
        kind, _, status = expression.removeprefix("condition=").partition("=")
        return lambda live: _condition_holds(kind, status or "True", live)
    raise ValueError(f'{WAIT_FOR}: {expression!r} must begin with "jsonpath=" or "condition="')


def _path_holds(path: JsonPath, live: Object) -> tuple[bool, str]:
    """A status of an older generation does not count."""
    observed = dig(live, "status", "observedGeneration")
    if observed is not None and observed < dig(live, "metadata", "generation", default=0):
        return False, f"{path.text} (the status is older than the spec)"
    holds, found = path.holds(live)
    return holds, f"{path.text} ({found})"


def _condition_holds(kind: str, wanted: str, live: Object) -> tuple[bool, str]:
    """As `kubectl wait --for=condition=`: case does not matter; a condition of an older generation does not count."""
    for found in dig(live, "status", "conditions", default=()):
        if str(found.get("type", "")).lower() != kind.lower():
            continue
        observed = found.get("observedGeneration", dig(live, "status", "observedGeneration"))
        if observed is not None and observed < dig(live, "metadata", "generation", default=0):
            return False, f"condition {kind} (it is older than the spec)"
        status = str(found.get("status", ""))
        words = f" {found['message']}" if found.get("message") else ""
        return status.lower() == wanted.lower(), f"condition {kind}={wanted} (found {status}{words})"
    return False, f"condition {kind}={wanted} (not there yet)"
