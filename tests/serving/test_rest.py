"""The REST API, as tensorflow/serving documents it in tensorflow_serving/g3doc/api_rest.md; sections are named below.

Status codes are those of tensorflow_serving/model_servers/http_server.cc, ToHTTPStatusCode.
"""

from __future__ import annotations

import gzip
import math
import socket
import threading
import urllib.request
from pathlib import Path
from typing import Any, cast

import pytest
import uvicorn

from tensorplane.images.serving import flags
from tensorplane.workloads.model_server.serving_config import METRICS_PATH
from tests.serving.server import Server
from tests.support.ports import free_ports


# "Predict API", "Specifying input tensors in row format"; the numbers are those of "Example".
def test_rows_of_one_input_give_a_list_of_predictions(server: Server) -> None:
    assert server.predict(instances=[1.0, 2.0, 5.0]) == (200, {"predictions": [3.5, 4.0, 5.5]})


def test_a_row_may_name_its_one_input(server: Server) -> None:
    assert server.predict(instances=[{"x": 1.0}, {"x": 2.0}]) == (200, {"predictions": [3.5, 4.0]})


def test_rows_of_several_inputs_are_objects_and_so_are_their_predictions(server: Server) -> None:
    rows = [{"a": 1.5, "b": [1, 2]}, {"a": 0, "b": [3, 4]}]
    assert server.predict(signature_name="two", instances=rows) == (
        200,
        {"predictions": [{"b": [1, 2], "sum": 4.5}, {"b": [3, 4], "sum": 7.0}]},
    )


# "Specifying input tensors in column format"
def test_columns_of_one_input_give_outputs_without_a_name(server: Server) -> None:
    assert server.predict(inputs=[1.0, 2.0]) == (200, {"outputs": [3.5, 4.0]})
    assert server.predict(inputs={"x": [1.0, 2.0]}) == (200, {"outputs": [3.5, 4.0]})


def test_columns_of_several_inputs_give_outputs_by_name(server: Server) -> None:
    columns = {"a": [1.5, 0], "b": [[1, 2], [3, 4]]}
    assert server.predict(signature_name="two", inputs=columns) == (
        200,
        {"outputs": {"sum": [4.5, 7.0], "b": [[1, 2], [3, 4]]}},
    )


# "Encoding binary values", "Output of binary values"
def test_strings_are_text_or_base64_and_outputs_named_bytes_are_base64(server: Server) -> None:
    status, answer = server.predict(signature_name="text", instances=["abc", {"b64": "/wA="}])
    assert status == 200
    assert [row["raw_bytes"] for row in answer["predictions"]] == [{"b64": "YWJj"}, {"b64": "/wA="}]
    assert answer["predictions"][0]["upper"] == "ABC"


# "JSON conformance"
def test_nan_and_infinity_go_in_and_come_out(server: Server) -> None:
    status, answer = server.post("/v1/models/half:predict", b'{"instances": [NaN, Infinity, -Infinity]}')
    assert status == 200
    assert math.isnan(answer["predictions"][0])
    assert answer["predictions"][1:] == [math.inf, -math.inf]


def test_floats_come_back_as_the_shortest_decimal_of_their_type(server: Server) -> None:
    with urllib.request.urlopen(f"{server.rest}/v1/models/half:predict", b'{"instances": [0.2]}') as answer:
        assert b"3.1]" in answer.read(), "not the float64 neighbour, 3.0999999046325684"


# predict_util.cc compares no shapes: "Example" asks half_plus_two, whose input is [-1, 1], for [1.0, 2.0, 5.0].
def test_a_shape_that_can_be_computed_is_no_fault(server: Server) -> None:
    assert server.predict(instances=[[1.0], [2.0]]) == (200, {"predictions": [[3.5], [4.0]]})
    assert server.predict(inputs=[[1.0, 2.0]]) == (200, {"outputs": [[3.5, 4.0]]})


# "Predict API", "URL"
def test_a_version_can_be_asked_for(server: Server) -> None:
    assert server.post("/v1/models/half/versions/3:predict", {"instances": [1.0]}) == (200, {"predictions": [3.5]})


# "Model status API" and its example
def test_model_status(server: Server) -> None:
    expected = {
        "model_version_status": [
            {"version": "3", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
        ]
    }
    assert server.get("/v1/models/half") == (200, expected)
    assert server.get("/v1/models/half/versions/3") == (200, expected)


# "Model Metadata API"
def test_model_metadata(server: Server) -> None:
    status, answer = server.get("/v1/models/half/metadata")
    assert status == 200
    assert answer["model_spec"] == {"name": "half", "signature_name": "", "version": "3"}
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert {"serving_default", "two", "text"} <= signatures.keys()
    image = signatures["two"]["inputs"]["b"]
    assert image["dtype"] == "DT_INT32"
    assert [size["size"] for size in image["tensor_shape"]["dim"]] == ["-1", "2"]
    assert signatures["two"]["method_name"] == "tensorflow/serving/predict"


# util/net_http/server/internal/evhttp_request.cc, NeedUncompressGzipContent
def test_a_body_may_be_packed_by_gzip(server: Server) -> None:
    def post(body: bytes) -> tuple[int, Any]:
        return server.send("POST", "/v1/models/half:predict", body, {"Content-Encoding": "gzip"})

    assert post(gzip.compress(b'{"instances": [1.0]}')) == (200, {"predictions": [3.5]})
    for broken in (b'{"instances": [1.0]}', gzip.compress(b'{"instances": [1.0]}')[:-9]):
        status, answer = post(broken)
        assert (status, answer["error"]) == (400, "JSON Parse error: The document is empty")


# http_rest_api_handler.cc, ProcessRequest: what is neither a GET nor a POST that it knows is a malformed request.
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_another_method_gets_an_error_in_json(server: Server, method: str) -> None:
    status, answer = server.send(method, "/v1/models/half:predict", b'{"instances": [1.0]}', {})
    assert (status, answer) == (400, {"error": f"Malformed request: {method} /v1/models/half:predict"})


# Without the option, the kernel holds back the receipt of an answer's first part for 40 ms, but of the first answer.
def test_connections_send_what_they_have_at_once(stubs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorplane.images.serving import rest, servers

    options: list[int] = []

    def accept(_: uvicorn.Server, sockets: list[socket.socket]) -> None:
        (listening,) = sockets
        listening.listen()
        with socket.create_connection(("127.0.0.1", listening.getsockname()[1])), listening.accept()[0] as accepted:
            options.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        listening.close()

    monkeypatch.setattr(uvicorn.Server, "run", accept)
    monkeypatch.setattr(rest, "application", lambda _: None)
    (port,) = free_ports(1)
    asked = flags.parse(["--port=0", f"--rest_api_port={port}"])
    servers._run_servers(asked, cast(Any, None), threading.Event())
    assert options == [1]


# The introduction: an error is an object with the key `error`.
@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("half:predict", {"instances": ["one"]}, 400, "is not of expected type: float"),
        ("half:predict", {"instances": [True]}, 400, "is not of expected type: float"),
        ("half:predict", {"instances": [[1.0], [1.0, 2.0]]}, 400, "different sizes"),
        ("half:predict", {"signature_name": "two", "inputs": {"a": [1], "b": [1, 2]}}, 400, "input b has shape [2]"),
        ("half:predict", {"instances": 1.0}, 400, "instances"),
        ("half:predict", {"instances": []}, 400, "instances"),
        ("half:predict", {"instances": [1.0], "inputs": [1.0]}, 400, "instances"),
        ("half:predict", {}, 400, "Missing 'inputs' or 'instances' key"),
        ("half:predict", {"signature_name": 5, "instances": [1.0]}, 400, "'signature_name' key must be a string"),
        ("half:predict", {"signature_name": "no", "instances": [1.0]}, 400, '"no" not found in signature def'),
        ("half:predict", {"signature_name": "two", "instances": [1.0]}, 400, "expecting list of objects"),
        ("half:predict", {"signature_name": "two", "instances": [{"a": 1}]}, 400, "keys must be equal to: a,b"),
        ("half:predict", {"signature_name": "two", "inputs": {"a": [1]}}, 400, "Missing named input: b"),
        ("half:predict", {"signature_name": "two", "inputs": {"a": [1], "b": [[1, 2.5]]}}, 400, "type: int32"),
        ("half:predict", {"signature_name": "two", "inputs": {"a": [1], "b": [[1, 2**40]]}}, 400, "type: int32"),
        ("half:predict", {"signature_name": "text", "instances": [{"b64": "%"}]}, 400, "base64"),
        ("half:predict", {"signature_name": "picky", "instances": [-1.0]}, 400, "only positive numbers"),
        (
            "half:predict",
            {"signature_name": "ragged", "instances": ["a b", "c"]},
            400,
            "output words is a RaggedTensor",
        ),
        ("half:predict", {"signature_name": "sparse", "instances": [1.0]}, 400, "output y is a SparseTensor"),
        ("half:predict", {"signature_name": "complex", "instances": [1.0]}, 500, "complex is not JSON serializable"),
        ("half:predict", b"{", 400, "JSON Parse error"),
        ("half:predict", b"", 400, "JSON Parse error: The document is empty"),
        ("half:predict", b"[1]", 400, "Is not object"),
        ("other:predict", {"instances": [1.0]}, 404, "Servable not found for request: Latest(other)"),
        ("half/versions/9:predict", {"instances": [1.0]}, 404, "Servable not found for request: Specific(half, 9)"),
        ("half:sing", {"instances": [1.0]}, 400, "Malformed request: POST /v1/models/half:sing"),
        # server_core.cc, GetModelVersionForLabel: labels are in a file of models' configuration, and there is none.
        ("half/labels/stable:predict", {"instances": [1.0]}, 400, "Unrecognized servable version label: stable"),
    ],
)
def test_a_wrong_request_gets_its_code_and_reason(server: Server, path: str, body: Any, status: int, says: str) -> None:
    code, error = server.refusal(f"/v1/models/{path}", body)
    assert code == status
    assert says in error
    assert len(error.splitlines()) == 1


def test_requests_that_failed_by_the_server_are_counted(server: Server) -> None:
    line = ':tensorflow:serving:request_count{model_name="half",status="INTERNAL"}'

    def count() -> float:
        return sum(float(each.split()[-1]) for each in server.text(METRICS_PATH).splitlines() if each.startswith(line))

    before = count()
    server.refusal("/v1/models/half:predict", {"signature_name": "complex", "instances": [1.0]})
    assert count() == before + 1


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/models/other", 404, "Could not find any versions of model other"),
        ("/v1/models/half/versions/9", 404, "Could not find version 9 of model half"),
        ("/v1/models/other/metadata", 404, "Servable not found for request: Latest(other)"),
        ("/v1/models/half/nothing", 400, "Malformed request: GET /v1/models/half/nothing"),
        ("/", 400, "Malformed request: GET /"),
    ],
)
def test_what_is_not_there_is_not_found(server: Server, path: str, status: int, says: str) -> None:
    code, error = server.refusal(path)
    assert code == status
    assert says in error


# Not TF Serving's: whoever looks at a response can tell that this is not TF Serving.
def test_every_answer_says_that_it_comes_from_a_stand_in(server: Server) -> None:
    with urllib.request.urlopen(f"{server.rest}/v1/models/half") as answer:
        assert answer.headers["X-Tensorplane-Stand-In"] == "tensorflow/serving"
        assert answer.headers["Content-Type"] == "application/json"
    assert "stand-in for tensorflow/serving" in server.log.read_text()
