"""Malformed requests get the right error with a message, and leave the server as it was: no crash, no growing memory.

Each is a valid request with a mutation that the seed decides.
"""

from __future__ import annotations

import http.client
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.serving.server import Server
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS

pytestmark = [pytest.mark.counted, pytest.mark.nightly("random requests; test_rest and test_grpc have a table of them")]
_REQUESTS = counts.of(quick=100, nightly=1000)
_SEED = counts.seed()
_GROWTH_MIB = 40
"""What the allocator may keep; a leak of each of some hundred requests' messages would not fit."""
_VALUES: Sequence[Any] = (
    None,
    True,
    -1,
    1e400,
    2**70,
    "",
    "1.0",
    "\x00",
    "ü" * 100,
    [],
    [[]],
    [[1.0], [1.0, 2.0]],
    {},
    {"x": None},
    {"b64": "no base64!"},
    {"y": [1.0]},
    [1.0, "2"],
)
_PATHS = (
    "/v1/models/half:predict",
    "/v1/models/half:classify",
    "/v1/models/half:regress",
    "/v1/models/half/versions/3:predict",
    "/v1/models/half/versions/99:predict",
    "/v1/models/half/versions/x:predict",
    "/v1/models/half/labels/none:predict",
    "/v1/models/other:predict",
    "/v1/models/half:explode",
    "/v1/models//half:predict",
    "/v1/models/%00:predict",
    "/v2",
)
_CODES = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.FAILED_PRECONDITION,
}


def _bodies(chance: random.Random) -> bytes:
    """A body that is not what a valid request has."""
    whole = json.dumps({"instances": [1.0, 2.0], "signature_name": "serving_default"}).encode()
    kind = chance.randrange(6)
    if kind == 0:
        return whole[: chance.randrange(len(whole))]
    if kind == 1:
        at = chance.randrange(len(whole))
        return whole[:at] + bytes([chance.randrange(256)]) * chance.randrange(1, 9) + whole[at + 1 :]
    if kind == 2:
        return chance.randbytes(chance.randrange(200))
    if kind == 3:
        return b"[" * chance.choice((10, 2000, 100_000))
    key = chance.choice(("instances", "inputs", "signature_name", "examples", "context"))
    body = {"instances": [1.0], key: chance.choice(_VALUES)}
    if chance.random() < 0.3:
        del body["instances"]
    return json.dumps(body).encode()


def _rss_mib(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _check_whole(server: Server, ask: Callable[[random.Random], None], seed: str) -> None:
    chance = random.Random(seed)
    for _ in range(_REQUESTS):
        ask(chance)
    before = _rss_mib(server)
    for _ in range(_REQUESTS):
        ask(chance)
    assert server.process.poll() is None
    assert _rss_mib(server) - before < _GROWTH_MIB
    assert server.predict(instances=[1.0, 2.0, 5.0]) == (200, {"predictions": [3.5, 4.0, 5.5]})


def test_rest_requests(server: Server) -> None:
    host = server.rest.removeprefix("http://")

    def ask(chance: random.Random) -> None:
        connection = http.client.HTTPConnection(host, timeout=PATIENT_SECONDS)
        body, path = _bodies(chance), chance.choice(_PATHS) if chance.random() < 0.3 else _PATHS[0]
        headers = {"Content-Encoding": "gzip"} if chance.random() < 0.1 else {}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status == http.client.OK:
            # A mutation can leave a valid request.
            assert "predictions" in json.loads(text) or "outputs" in json.loads(text)
            return
        assert answer.status in {400, 404, 405, 412, 413, 501}, (path, body[:300], text)
        assert json.loads(text)["error"], (path, body[:300])

    _check_whole(server, ask, f"rest-{_SEED}")


def test_grpc_requests(server: Server, stubs: Path) -> None:
    from tensorflow_serving.apis import predict_pb2

    with grpc.insecure_channel(server.grpc_address) as channel:
        raw = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        other = channel.unary_unary("/tensorflow.serving.PredictionService/Explode")

        def message(chance: random.Random) -> bytes:
            request = predict_pb2.PredictRequest()
            request.model_spec.name = chance.choice(("half", "half", "half", "", "other", "\x00"))
            request.model_spec.signature_name = chance.choice(("", "two", "text", "none"))
            tensor = request.inputs[chance.choice(("x", "y", ""))]
            tensor.dtype = chance.choice((0, 1, 3, 7, 9, 20, 21, 10_000))
            for _ in range(chance.randrange(3)):
                tensor.tensor_shape.dim.add().size = chance.choice((-1, 0, 1, 3, 2**40))
            tensor.float_val.extend([1.0] * chance.randrange(4))
            tensor.tensor_content = chance.randbytes(chance.choice((0, 0, 3, 8)))
            found: bytes = request.SerializeToString()
            if chance.random() < 0.3:
                at = chance.randrange(len(found))
                found = found[:at] + chance.randbytes(4) + found[at + 1 :]
            return found

        def ask(chance: random.Random) -> None:
            method, sent = (other if chance.random() < 0.05 else raw), message(chance)
            try:
                answered = predict_pb2.PredictResponse.FromString(method(sent, timeout=PATIENT_SECONDS))
                assert answered.outputs
            except grpc.RpcError as error:
                # A message that is no protocol buffer fails in gRPC's own code.
                is_broken = not _parses(predict_pb2.PredictRequest, sent)
                assert error.code() in _CODES or (is_broken and error.code() is grpc.StatusCode.INTERNAL), (
                    sent,
                    error,
                )
                assert error.details()

        _check_whole(server, ask, f"grpc-{_SEED}")


def _parses(kind: Any, message: bytes) -> bool:
    try:
        kind.FromString(message)
    except Exception:  # the library's own error class is not public
        return False
    return True
