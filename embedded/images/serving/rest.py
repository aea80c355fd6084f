"""TF Serving's REST API: model status, metadata, predict, classify, regress."""

from __future__ import annotations

import json
import re
import zlib
from urllib.parse import unquote

from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from . import inference, json_examples, json_tensors, messages
from .refusal import Refusal, invalid, unknown_label
from .versions import Versions

HEADER = "X-Tensorplane-Stand-In"
_LARGEST_UNPACKED = 100 << 20  # gzip_zlib.h, kMaxUncompressedBytes
_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_POST = re.compile(_MODEL + r":(?P<method>classify|regress|predict)", re.IGNORECASE)
_GET = re.compile(_MODEL + r"(?:/(?P<part>metadata))?", re.IGNORECASE)


def application(versions: Versions) -> Starlette:
    """The REST API as an ASGI application. All methods get an answer in JSON."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = _plain(await request.body(), request.headers.get("Content-Encoding", ""))
        # In a thread, so that a slow prediction delays no other request.
        response = await run_in_threadpool(_respond, versions, request.method, request.scope["path"], body)
        await response(scope, receive, send)

    return Starlette(routes=[Mount("/", answer)])


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


def _respond(versions: Versions, method: str, path: str, body: bytes) -> Response:
    try:
        status, content = 200, _answer(versions, method, path, body)
    except Refusal as refusal:
        status, content = refusal.http_status, json.dumps({"error": refusal.message}).encode()
    return Response(content, status, {HEADER: "tensorflow/serving"}, "application/json")


def _answer(versions: Versions, method: str, path: str, body: bytes) -> bytes:
    found = (_POST if method == "POST" else _GET).fullmatch(path)
    if not found:
        raise invalid(f"Malformed request: {method} {path}")
    if found["label"]:
        raise unknown_label(unquote(found["label"]))
    name, number = unquote(found["name"]), int(found["version"]) if found["version"] else None
    if method == "POST":
        return _METHODS[found["method"].lower()](versions, name, number, body)
    if found["part"]:
        return _metadata(versions, name, number)
    status = messages.model_status(versions.statuses(name, number))
    return json.dumps(MessageToDict(status, always_print_fields_with_no_presence=True), indent=1).encode()


def _predict(versions: Versions, name: str, number: int | None, body: bytes) -> bytes:
    version = versions.get(name, number)
    document = json_tensors.parse(body)
    signature_name = document.get("signature_name", "")
    inputs, rows = json_tensors.read(document, version.signature(signature_name))
    return json_tensors.write(version.predict(inputs, signature_name), rows=rows)


def _classify(versions: Versions, name: str, number: int | None, body: bytes) -> bytes:
    document = json_tensors.parse(body)
    given = json_examples.read(document)
    found = inference.classify(versions.get(name, number), given, document.get("signature_name", ""))
    return json_examples.classified(found)


def _regress(versions: Versions, name: str, number: int | None, body: bytes) -> bytes:
    document = json_tensors.parse(body)
    given = json_examples.read(document)
    found = inference.regress(versions.get(name, number), given, document.get("signature_name", ""))
    return json_examples.regressed(found)


_METHODS = {"predict": _predict, "classify": _classify, "regress": _regress}


def _metadata(versions: Versions, name: str, number: int | None) -> bytes:
    version = versions.get(name, number)
    model, signatures = messages.model_spec(name, version.number), messages.signature_map(version)
    as_json = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}
    return json.dumps(
        {
            "model_spec": MessageToDict(model, **as_json),
            "metadata": {"signature_def": MessageToDict(signatures, **as_json)},
        },
        indent=1,
    ).encode()
