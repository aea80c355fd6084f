"""What the real Kueue tells on its metrics endpoint is what the dashboard's queries are checked against."""

from __future__ import annotations

import os
import re
import ssl
import urllib.request
from collections import defaultdict

import pytest
from kubernetes import client, config

from components import versions
from embedded.paths import Instance
from tests.queues.jobs import Jobs
from tests.support.waiting import PATIENT_SECONDS
from tests.unit.queues.test_dashboard import QUERIES, metrics

_ACCOUNT = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
_READER = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kueue-metrics-reader"}
_SERIES = re.compile(r"^(kueue_\w+)(?:\{(.*)\})? ", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="(?:[^"\\]|\\.)*"')


@pytest.fixture
def told(queues: Jobs) -> dict[str, set[str]]:
    """Each series of Kueue's, with its labels, as who shows a token gets them."""
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "metrics-of-kueue"},
        "roleRef": _READER,
        "subjects": [_ACCOUNT],
    }
    queues.api.apply(binding, manager="test")
    # The fixture's cluster is the one that programs find by their environment.
    core = client.CoreV1Api(config.new_client_from_config(str(Instance(os.environ["TENSORPLANE_INSTANCE"]).kubeconfig)))
    token = core.create_namespaced_service_account_token("default", "default", {"spec": {}}).status.token
    pods = queues.kube.items(f"/api/v1/namespaces/{versions.KUEUE.namespace}/pods")
    (address,) = (pod["status"]["podIP"] for pod in pods if pod["status"]["phase"] == "Running")
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    asked = urllib.request.Request(f"https://{address}:8443/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, context=trusting, timeout=PATIENT_SECONDS) as answer:
        text = answer.read().decode()
    found: dict[str, set[str]] = defaultdict(set)
    for name, labels in _SERIES.findall(text):
        found[name] |= set(_LABEL.findall(labels))
    return found


def test_every_series_has_the_recorded_labels(told: dict[str, set[str]]) -> None:
    recorded = {name: labels - {"exported_namespace"} for name, labels in metrics().items()}
    assert {name: labels for name, labels in told.items() if recorded.get(name) != frozenset(labels)} == {}


def test_what_the_dashboard_shows_of_idle_queues_is_there(told: dict[str, set[str]]) -> None:
    shown = {name for _, target in QUERIES for name in re.findall(r"\bkueue_\w+", target["expr"])}
    # Counters and histograms begin with what they first count.
    gauges = {name for name in shown if not name.endswith(("_total", "_bucket"))}
    assert gauges <= set(told)
