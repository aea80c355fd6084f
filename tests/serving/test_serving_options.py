"""Batching, warm-up, metrics and the health service.

Source: tensorflow/serving, batching/README.md, session_bundle_config.proto, g3doc/saved_model_warmup.md,
g3doc/serving_config.md ("Monitoring Configuration") and main.cc.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
import tensorflow as tf

from tests.serving.server import HalfPlus, running
from tests.support.waiting import PATIENT_SECONDS, eventually

_BATCHING = """
max_batch_size { value: 8 }
batch_timeout_micros { value: 20000 }
max_enqueued_batches { value: 100 }
num_batch_threads { value: 2 }
allowed_batch_sizes: 4
allowed_batch_sizes: 8
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Version 1 of `half`: x / 2 + 1."""
    (tmp_path / "half").mkdir()
    HalfPlus(1.0).save(tmp_path / "half" / "1")
    return tmp_path


def _file(base: Path, name: str, text: str) -> Path:
    file = base / name
    file.write_text(text)
    return file


def test_each_request_of_a_batch_gets_its_own_answer(stubs: Path, base: Path) -> None:
    file = _file(base, "batching", _BATCHING)
    with running(stubs, base, "--enable_batching", f"--batching_parameters_file={file}") as server:
        server.wait("/v1/models/half/metadata", 200)
        requests = [[float(number)] * (1 + number % 3) for number in range(60)]
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda rows: server.predict(instances=rows), requests))
        assert answers == [(200, {"predictions": [x / 2 + 1 for x in rows]}) for rows in requests]
        # A wrong request fails alone.
        with ThreadPoolExecutor(20) as pool:
            rows = [{"x": 1.0}, {"x": "text"}] * 10
            statuses = list(pool.map(lambda row: server.predict(instances=[row])[0], rows))
        assert statuses == [200, 400] * 10
        status, said = server.predict(instances=[1.0] * 9)
        assert (status, said["error"]) == (400, "Task size 9 is larger than maximum input batch size 8")
        status, _ = server.predict(signature_name="two", inputs={"a": [1.0], "b": [[1, 2], [3, 4]]})
        assert status == 400


def test_sizes_that_do_not_end_with_the_largest_are_refused(stubs: Path, base: Path) -> None:
    file = _file(base, "batching", "max_batch_size { value: 8 } allowed_batch_sizes: 4")
    with running(stubs, base, "--enable_batching", f"--batching_parameters_file={file}") as server:
        assert server.process.wait(PATIENT_SECONDS) == 1
        assert "the last one must equal max_batch_size" in server.log.read_text()


def test_a_version_is_warm_before_it_answers_and_unserved_if_a_request_fails(stubs: Path, base: Path) -> None:
    from tensorflow_serving.apis import prediction_log_pb2

    def warm(version: str, value: object) -> None:
        log = prediction_log_pb2.PredictionLog()
        log.predict_log.request.model_spec.name = "half"
        log.predict_log.request.inputs["x"].CopyFrom(tf.make_tensor_proto([value]))
        draft = base / version
        HalfPlus(2.0).save(draft)
        (draft / "assets.extra").mkdir()
        with tf.io.TFRecordWriter(str(draft / "assets.extra/tf_serving_warmup_requests")) as writer:
            writer.write(log.SerializeToString())
        draft.rename(base / "half" / version)

    with running(stubs, base) as server:
        server.wait("/v1/models/half/metadata", 200)
        warm("2", 4.0)
        server.wait("/v1/models/half/versions/2/metadata", 200)
        assert "warmed half version 2 up with 1 requests" in server.log.read_text()
        warm("3", "text")
        eventually(lambda: "cannot load half version 3" in server.log.read_text())
        assert server.predict(instances=[1.0]) == (200, {"predictions": [2.5]})


def test_metrics_have_the_names_of_tf_serving(stubs: Path, base: Path) -> None:
    file = _file(base, "monitoring", 'prometheus_config { enable: true path: "/monitoring/prometheus/metrics" }')
    with running(stubs, base, f"--monitoring_config_file={file}") as server:
        server.wait("/v1/models/half/metadata", 200)
        server.predict(instances=[1.0])
        server.predict(instances=["text"])
        shown = server.text("/monitoring/prometheus/metrics")
    assert ':tensorflow:serving:request_count{model_name="half",status="OK"} 1' in shown
    assert ':tensorflow:serving:request_count{model_name="half",status="INVALID_ARGUMENT"} 1' in shown
    of_rest = ':tensorflow:serving:request_latency_count{API="Predict",entrypoint="REST",model_name="half"} 1'
    assert of_rest in shown
    assert ":tensorflow:cc:saved_model:load_attempt_count{" in shown


def test_without_a_monitoring_file_there_are_no_metrics(stubs: Path, base: Path) -> None:
    with running(stubs, base) as server:
        server.wait("/v1/models/half/metadata", 200)
        assert server.get("/monitoring/prometheus/metrics")[0] == 400


def test_the_health_service_answers_for_probes(stubs: Path, base: Path) -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with running(stubs, base, "--enable_grpc_healthcheck_service") as server:
        server.wait("/v1/models/half/metadata", 200)
        with grpc.insecure_channel(server.grpc_address) as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
