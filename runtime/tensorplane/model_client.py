"""Predictions of a model server for records, over TensorFlow Serving's REST API. It only requires the standard
library."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPException
from typing import Any

from tensorplane import strict_json
from tensorplane.errors import TensorplaneError

_SECONDS = 30.0
"""Time for one answer. A server that takes longer is asked again."""
_MOST_ERROR_CHARACTERS = 300
"""Characters of an error that are kept."""

Result = dict[str, Any]
"""`{"prediction": …}`, or `{"error": …}` for a record that cannot be scored."""


class Unavailable(TensorplaneError, RuntimeError):
    """The server gives no answer now: it is not there, overloaded, or has no version of the model."""


class _Refused(TensorplaneError, ValueError):
    """The server refuses the request because of its content."""


def results(url: str, values: Sequence[bytes | None]) -> list[Result]:
    """One result for each record's value, which is one instance as JSON. Raises Unavailable."""
    found: list[Result | None] = []
    instances = []
    for value in values:
        try:
            instances.append(_instance(value))
            found.append(None)
        except ValueError as error:
            found.append(_error(str(error)))
    answers = iter(_scored(url, instances))
    return [next(answers) if result is None else result for result in found]


def _scored(url: str, instances: Sequence[Any]) -> list[Result]:
    """The results of a request. If the server refuses it, each instance is asked for alone."""
    if not instances:
        return []
    try:
        return [_result(prediction) for prediction in _predict(url, instances)]
    except _Refused as error:
        if len(instances) == 1:
            return [_error(str(error))]
    return [result for instance in instances for result in _scored(url, [instance])]


def _result(prediction: Any) -> Result:
    """A prediction as a result, which is JSON: TensorFlow Serving also answers with NaN, which other readers refuse."""
    try:
        json.dumps(prediction, allow_nan=False)
    except ValueError:
        return _error("the model predicts NaN or Infinity, which are no numbers of JSON")
    return {"prediction": prediction}


def _instance(value: bytes | None) -> Any:
    if value is None:
        raise strict_json.InvalidJson("the record has no value")
    try:
        return strict_json.parse(value)
    except ValueError as error:
        raise strict_json.InvalidJson(f"the record is no JSON: {error}") from error


def _predict(url: str, instances: Sequence[Any]) -> list[Any]:
    body = json.dumps({"instances": list(instances)}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310  # of the settings
    try:
        # A new connection each time: the Service chooses a pod for each connection, so that all pods share the load.
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
            predictions = json.load(response)["predictions"]
    except urllib.error.HTTPError as error:
        text = _text(error)
        if error.code == HTTPStatus.BAD_REQUEST:
            raise _Refused(text) from error
        raise Unavailable(f"{error.code} {text}") from error
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"{type(error).__name__}: {error}") from error
    if not isinstance(predictions, list) or len(predictions) != len(instances):
        raise _Refused("the answer has another number of predictions than instances")
    return predictions


def _text(error: urllib.error.HTTPError) -> str:
    """The message of an answer: the server's own, if it is one."""
    try:
        body = error.read().decode(errors="replace")
    except (OSError, HTTPException):
        return error.reason
    try:
        return str(json.loads(body)["error"])[:_MOST_ERROR_CHARACTERS]
    except (ValueError, KeyError, TypeError):
        return body[:_MOST_ERROR_CHARACTERS] or error.reason


def _error(text: str) -> Result:
    return {"error": text[:_MOST_ERROR_CHARACTERS]}
