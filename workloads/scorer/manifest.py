"""The pods of a scorer."""

from collections.abc import Mapping
from typing import Any

from tensorplane.components.base.labels import PROMETHEUS_PORT, PROMETHEUS_SCRAPE
from tensorplane.workloads.model_server.manifest import model_url
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.files import Bundle, bundle
from tensorplane.workloads.pods.objects import Identity
from tensorplane.workloads.pods.streams import Client, in_pod
from tensorplane.workloads.scorer.settings import ScorerSettings

COMPONENT_VALUE = "scoring"
"""Value of the component label of objects of scorers."""
INPUT, OUTPUT = "input", "output"
"""Names of the streams in the pods (the library's `score.py`)."""
METRICS_PORT = 9102
GRACE_SECONDS = 60
"""Seconds for a scorer that gets SIGTERM: a request may take thirty, and the results must reach the brokers."""


def library(owner: Identity, files: Mapping[str, bytes]) -> Bundle:
    """The ConfigMap of tensorplane's library, which has the program."""
    return bundle(f"{owner.name}-runtime", files)


def for_prometheus() -> dict[str, str]:
    """Annotations of the pods, for a Prometheus that discovers pods by them."""
    return {PROMETHEUS_SCRAPE: "true", PROMETHEUS_PORT: str(METRICS_PORT)}


def predict_url(server: str, namespace: str, model: str) -> str:
    """Where the Service of a server answers for a model."""
    return f"{model_url(server, namespace, model)}:predict"


def pods(
    owner: Identity,
    settings: ScorerSettings,
    image: str,
    *,
    model: str,
    code: Bundle,
    streams: Mapping[str, Client],
    placement: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> dict[str, Any]:
    """The template of the pods. `model`: its name for clients; `streams`: by their names in the pods."""
    server, _, _ = settings.server.partition("/")
    of_streams = in_pod(streams)
    variables = {
        "PYTHONPATH": pod.IMPORTED,
        "PREDICT_URL": predict_url(server, owner.namespace, model),
        "BATCH": str(settings.batch),
        "INPUT_TOPIC": settings.input.topic,
        "OUTPUT_TOPIC": settings.output.topic,
        "TENSORPLANE_METRICS_PORT": str(METRICS_PORT),
    }
    container = pod.Container(
        image=image,
        resources=settings.resources,
        command=["python3", "-m", "tensorplane.score"],
        env=[*pod.variables(variables), *of_streams.env],
        ports={"metrics": METRICS_PORT},
        files={pod.LIBRARY: code},
        secrets=of_streams.secrets,
    )
    return pod.template(
        owner.name,
        {**owner.labels, **of_streams.labels},
        container,
        grace_seconds=GRACE_SECONDS,
        placement=placement,
        annotations=annotations,
    )
