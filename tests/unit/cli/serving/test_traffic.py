"""Rates and latencies from TensorFlow Serving's metrics."""

from __future__ import annotations

import pytest

from tensorplane.cli.serving import traffic
from tensorplane.cli.serving.traffic import Traffic

_TEXT = """
# TYPE :tensorflow:serving:request_count gauge
:tensorflow:serving:request_count{{model_name="half",status="OK"}} {ok}
:tensorflow:serving:request_count{{model_name="half",status="INVALID_ARGUMENT"}} 1
:tensorflow:serving:request_count{{model_name="other",status="OK"}} 7
# TYPE :tensorflow:serving:request_latency histogram
:tensorflow:serving:request_latency_bucket{{model_name="half",API="Predict",entrypoint="REST",le="1000"}} {fast}
:tensorflow:serving:request_latency_bucket{{model_name="half",API="Predict",entrypoint="REST",le="3000"}} {ok}
:tensorflow:serving:request_latency_bucket{{model_name="half",API="Predict",entrypoint="REST",le="+Inf"}} {ok}
:tensorflow:serving:request_latency_sum{{model_name="half",API="Predict",entrypoint="REST"}} 1
:tensorflow:serving:request_latency_count{{model_name="half",API="Predict",entrypoint="REST"}} {ok}
"""


def shown(ok: int, fast: int) -> str:
    """Metrics of a pod that answered so many requests, and so many of them within a millisecond."""
    return _TEXT.format(ok=ok, fast=fast)


def _between(*pods: tuple[str, str], model: str = "half") -> Traffic:
    return traffic.of(model, [(traffic.read(before), traffic.read(after)) for before, after in pods], seconds=2)


def test_the_rate_and_the_latencies_are_those_between_two_looks() -> None:
    # 10 requests in 2 seconds: 5 within a millisecond, 5 within three.
    found = _between((shown(100, 100), shown(110, 105)))
    assert (found.requests_per_second, found.p50_ms, found.p99_ms) == pytest.approx((5, 1.0, 2.96))


def test_pods_are_added() -> None:
    found = _between((shown(0, 0), shown(4, 4)), (shown(0, 0), shown(4, 0)))
    assert (found.requests_per_second, found.p50_ms, found.p99_ms) == pytest.approx((4, 1.0, 2.96))


def test_a_server_without_requests_in_between_shows_the_latencies_since_its_start() -> None:
    found = _between((shown(8, 8), shown(8, 8)))
    assert (found.requests_per_second, found.p50_ms, found.p99_ms) == pytest.approx((0, 0.5, 0.99))


def test_a_server_that_started_anew_is_counted_from_its_start() -> None:
    assert _between((shown(100, 100), shown(5, 5))).requests_per_second == 3, "5 answered and 1 refused in 2 seconds"


def test_a_model_without_requests_has_no_latencies() -> None:
    assert _between(("", ""), model="new") == Traffic(0, None, None)


def test_latencies_above_the_last_bound_are_at_least_that_bound() -> None:
    slow = shown(4, 0).replace('le="3000"}} 4', 'le="3000"}} 0').replace('le="3000"} 4', 'le="3000"} 0')
    assert _between(("", slow)) == Traffic(2.5, 3.0, 3.0)
