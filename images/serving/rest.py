"""TF Serving's REST API: model status, metadata, predict, classify, regress."""

from __future__ import annotations

import json
import re
import zlib
from http import HTTPStatus
from urllib.parse import unquote

from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from . import inference, json_examples, json_tensors, messages
from .error import ServingError, internal_error, invalid_argument
from .models import Models
from .monitoring import CONTENT_TYPE
from .serving import Serving
from .versions import VersionRequest

HEADER = "X-Tensorplane-Stand-In"
_LARGEST_UNPACKED = 100 << 20  # gzip_zlib.h, kMaxUncompressedBytes
_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_POST = re.compile(_MODEL + r":(?P<method>classify|regress|predict)", re.IGNORECASE)
_GET = re.compile(_MODEL + r"(?:/(?P<part>metadata))?", re.IGNORECASE)


def application(serving: Serving) -> Starlette:
    """The REST API as an ASGI application. All methods get an answer in JSON."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = _plain(await request.body(), request.headers.get("Content-Encoding", ""))
        if request.method == "GET" and request.scope["path"] == serving.metrics_path:
            await Response(serving.metrics.text(), media_type=CONTENT_TYPE)(scope, receive, send)
            return
        # In a thread, so that a slow prediction delays no other request.
        response = await run_in_threadpool(_respond, serving, request.method, request.scope["path"], body)
        await response(scope, receive, send)

    return Starlette(routes=[Mount("/", answer)], exception_handlers={Exception: _failed})


async def _failed(_: Request, error: Exception) -> Response:
    """The answer after any other error; the server logs where it was raised."""
    return _error_response(internal_error(error))


def _plain(body: bytes, encoding: str) -> bytes:
    """The decompressed body. As in evhttp_request.cc, a body that cannot be decompressed is empty."""
    if "gzip" not in encoding.lower():
        return body
    packed = zlib.decompressobj(wbits=zlib.MAX_WBITS + 16)
    try:
        plain = packed.decompress(body, _LARGEST_UNPACKED)
    except zlib.error:
        return b""
    return plain if packed.eof else b""


def _respond(serving: Serving, method: str, path: str, body: bytes) -> Response:
    try:
        content = _answer(serving, method, path, body)
    except ServingError as error:
        return _error_response(error)
    return _json(content, HTTPStatus.OK)


def _error_response(error: ServingError) -> Response:
    return _json(json.dumps({"error": error.message}).encode(), error.http_status)


def _json(content: bytes, status: int) -> Response:
    return Response(content, status, {HEADER: "tensorflow/serving"}, "application/json")


def _answer(serving: Serving, method: str, path: str, body: bytes) -> bytes:
    found = (_POST if method == "POST" else _GET).fullmatch(path)
    if not found:
        raise invalid_argument(f"Malformed request: {method} {path}")
    number = int(found["version"]) if found["version"] else None
    requested = VersionRequest(unquote(found["name"]), number, unquote(found["label"] or ""))
    if method == "POST":
        api = found["method"].capitalize()
        with serving.metrics.request(requested.name, api, "REST"):
            return _METHODS[api](serving.models, requested, body)
    if found["part"]:
        return _metadata(serving.models, requested)
    status = messages.model_status(serving.models.statuses(requested))
    return json.dumps(MessageToDict(status, always_print_fields_with_no_presence=True), indent=1).encode()


def _predict(models: Models, requested: VersionRequest, body: bytes) -> bytes:
    version = models.get(requested)
    document = json_tensors.parse(body)
    signature_name = document.get("signature_name", "")
    inputs, rows = json_tensors.read(document, version.signature(signature_name))
    return json_tensors.write(version.predict(inputs, signature_name), rows=rows)


def _classify(models: Models, requested: VersionRequest, body: bytes) -> bytes:
    document = json_tensors.parse(body)
    examples = json_examples.read(document)
    found = inference.classify(models.get(requested), examples, document.get("signature_name", ""))
    return json_examples.classified(found)


def _regress(models: Models, requested: VersionRequest, body: bytes) -> bytes:
    document = json_tensors.parse(body)
    examples = json_examples.read(document)
    found = inference.regress(models.get(requested), examples, document.get("signature_name", ""))
    return json_examples.regressed(found)


_METHODS = {"Predict": _predict, "Classify": _classify, "Regress": _regress}


def _metadata(models: Models, requested: VersionRequest) -> bytes:
    version = models.get(requested)
    model, signatures = messages.model_spec(requested.name, version.number), messages.signature_map(version)
    as_json = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}
    return json.dumps(
        {
            "model_spec": MessageToDict(model, **as_json),
            "metadata": {"signature_def": MessageToDict(signatures, **as_json)},
        },
        indent=1,
    ).encode()
