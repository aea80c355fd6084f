"""Batching, warm-up and the health service.

Source: tensorflow/serving, batching/README.md, session_bundle_config.proto, g3doc/saved_model_warmup.md,
g3doc/serving_config.md ("Monitoring Configuration") and main.cc.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
import tensorflow as tf

from tensorplane.workloads.model_server import serving_config
from tensorplane.workloads.model_server.settings import BatchingArgs
from tests.serving.server import HalfPlus, Server, running
from tests.support.waiting import PATIENT_SECONDS, eventually

_SETTINGS = {"maxBatchSize": 8, "allowedBatchSizes": [4, 8], "batchTimeoutMicros": 20000}


@pytest.fixture(scope="module")
def batching(stubs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A stand-in with the batching file that the stack generates. It serves x / 2 + 1."""
    base = tmp_path_factory.mktemp("batching")
    HalfPlus(1.0).publish(base, "half", 1)
    file = base / "batching"
    file.write_text(serving_config.batching(BatchingArgs.model_validate(_SETTINGS), cpus=1.5))
    assert "num_batch_threads { value: 2 }" in file.read_text()
    with running(stubs, base, "--enable_batching=true", f"--batching_parameters_file={file}") as server:
        server.wait("/v1/models/half/metadata", 200)
        yield server


def test_each_request_of_a_batch_gets_its_own_answer(batching: Server) -> None:
    requests = [[float(number)] * (1 + number % 3) for number in range(60)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda rows: batching.predict(instances=rows), requests))
    assert answers == [(200, {"predictions": [x / 2 + 1 for x in rows]}) for rows in requests]
    # A wrong request fails alone.
    with ThreadPoolExecutor(20) as pool:
        rows = [{"x": 1.0}, {"x": "text"}] * 10
        statuses = list(pool.map(lambda row: batching.predict(instances=[row])[0], rows))
    assert statuses == [200, 400] * 10
    status, said = batching.predict(instances=[1.0] * 9)
    assert (status, said["error"]) == (400, "Task size 9 is larger than maximum input batch size 8")
    status, _ = batching.predict(signature_name="two", inputs={"a": [1.0], "b": [[1, 2], [3, 4]]})
    assert status == 400


def test_a_batch_takes_the_shapes_that_are_taken_alone(batching: Server, server: Server) -> None:
    # The signature's is (None,). Session::Run compares no shapes, and batching_session.cc those of a batch's requests.
    asked = [([[1.0, 2.0]], [[1.5, 2.0]]), ([1.0, 2.0], [1.5, 2.0]), ([[[2.0]]] * 2, [[[2.0]]] * 2)] * 5
    with ThreadPoolExecutor(15) as pool:
        answers = list(pool.map(lambda case: batching.predict(inputs=case[0]), asked))
    assert answers == [(200, {"outputs": expected}) for _, expected in asked]
    for one in (batching, server):
        status, said = one.predict(signature_name="two", inputs={"a": [1.0], "b": [1]})
        assert (status, said["error"].partition(" has ")[0]) == (400, "input b")


def test_without_a_monitoring_file_there_are_no_metrics(batching: Server) -> None:
    assert batching.get(serving_config.METRICS_PATH)[0] == 400


@pytest.mark.nightly("a start of TensorFlow for one line")
def test_sizes_that_do_not_end_with_the_largest_are_refused(stubs: Path, tmp_path: Path) -> None:
    file = tmp_path / "batching"
    file.write_text("max_batch_size { value: 8 } allowed_batch_sizes: 4")
    with running(stubs, tmp_path, "--enable_batching", f"--batching_parameters_file={file}") as server:
        assert server.process.wait(PATIENT_SECONDS) == 1
        assert "the last one must equal max_batch_size" in server.log.read_text()


def test_a_version_is_warm_before_it_answers_and_unserved_if_a_request_fails(server: Server, tmp_path: Path) -> None:
    from tensorflow_serving.apis import prediction_log_pb2

    def publish(version: str, value: object) -> None:
        """A version of the model `warm` with a request to warm it up."""
        log = prediction_log_pb2.PredictionLog()
        log.predict_log.request.model_spec.name = "warm"
        log.predict_log.request.inputs["x"].CopyFrom(tf.make_tensor_proto([value]))
        save(version, log)

    def save(version: str, log: prediction_log_pb2.PredictionLog) -> None:
        draft = tmp_path / version
        HalfPlus(2.0).save(draft)
        (draft / "assets.extra").mkdir()
        with tf.io.TFRecordWriter(str(draft / "assets.extra/tf_serving_warmup_requests")) as writer:
            writer.write(log.SerializeToString())
        draft.rename(server.base / "warm" / version)

    publish("2", 4.0)
    server.wait("/v1/models/warm/versions/2/metadata", 200)
    assert "warmed warm version 2 up with 1 requests" in server.log.read_text()
    publish("3", "text")
    eventually(lambda: "cannot load warm version 3" in server.log.read_text())
    assert server.predict("warm", instances=[1.0]) == (200, {"predictions": [2.5]})
    # The other output is a RaggedTensor, which cannot be returned, and which the request does not ask for.
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.model_spec.signature_name = "ragged"
    log.predict_log.request.inputs["s"].CopyFrom(tf.make_tensor_proto(["a b"]))
    log.predict_log.request.output_filter.append("lengths")
    save("4", log)
    server.wait("/v1/models/warm/versions/4/metadata", 200)


def test_the_health_service_answers_for_probes(server: Server) -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with grpc.insecure_channel(server.grpc_address) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
