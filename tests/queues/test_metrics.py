"""What the real Kueue tells on its metrics endpoint is what the dashboard's queries are checked against."""

from __future__ import annotations

import re
import ssl
import urllib.request
from collections import defaultdict
from collections.abc import Callable

import pytest
from kubernetes import client, config

from tensorplane.components import versions
from tests.queues.jobs import Jobs
from tests.support.simulated import Simulated
from tests.support.waiting import PATIENT_SECONDS, eventually
from tests.unit.dashboards.test_queues import QUERIES, metrics

Series = dict[str, set[str]]
_ACCOUNT = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
_READER = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kueue-metrics-reader"}
_REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SubjectAccessReview",
    "metadata": {},
    "spec": {
        "user": "system:serviceaccount:default:default",
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    },
}
_SERIES = re.compile(r"^(kueue_\w+)(?:\{(.*)\})? ", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="(?:[^"\\]|\\.)*"')


@pytest.fixture
def series(jobs: Jobs, fleet: Simulated) -> Callable[[], Series]:
    """Asks for each series of Kueue's with its labels, as who shows a token gets them."""
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "metrics-of-kueue"},
        "roleRef": _READER,
        "subjects": [_ACCOUNT],
    }
    jobs.api.apply(binding, manager="test")
    # Kueue would remember a refusal.
    eventually(lambda: jobs.api.create(_REVIEW, manager="test")["status"]["allowed"])
    core = client.CoreV1Api(config.new_client_from_config(str(fleet.instance.kubeconfig)))
    token = core.create_namespaced_service_account_token("default", "default", {"spec": {}}).status.token
    pods = jobs.kube.items(f"/api/v1/namespaces/{versions.KUEUE.namespace}/pods")
    (address,) = (pod["status"]["podIP"] for pod in pods if pod["status"]["phase"] == "Running")
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    asked = urllib.request.Request(f"https://{address}:8443/metrics", headers={"Authorization": f"Bearer {token}"})

    def ask() -> Series:
        with urllib.request.urlopen(asked, context=trusting, timeout=PATIENT_SECONDS) as answer:
            text = answer.read().decode()
        found: Series = defaultdict(set)
        for name, labels in _SERIES.findall(text):
            found[name] |= set(_LABEL.findall(labels))
        return found

    return ask


def test_every_series_has_the_recorded_labels(series: Callable[[], Series]) -> None:
    recorded = {name: labels - {"exported_namespace"} for name, labels in metrics().items()}
    found = eventually(series)
    assert {name: labels for name, labels in found.items() if recorded.get(name) != frozenset(labels)} == {}


def test_what_the_dashboard_shows_of_idle_queues_is_there(series: Callable[[], Series]) -> None:
    shown = {name for _, target in QUERIES for name in re.findall(r"\bkueue_\w+", target["expr"])}
    # Counters and histograms begin with what they first count.
    gauges = {name for name in shown if not name.endswith(("_total", "_bucket"))}
    eventually(lambda: gauges <= set(series()))
