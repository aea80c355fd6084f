"""The main job, end to end: two workers train on real digits, a server answers, a second run changes nothing."""

from __future__ import annotations

import json
import stat
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver import showcase, watch
from driver.policy_pack import Policies
from embedded.cluster import processes
from embedded.cluster.places import Places
from embedded.step import Step
from tests.e2e.conftest import Deployed
from tests.support.waiting import PATIENT_SECONDS


@pytest.fixture(scope="module")
def served(deployed: Deployed) -> Deployed:
    """After training and with the server Ready."""
    watch.training(deployed.kube, deployed.outputs, Step("training"))
    watch.serving(deployed.kube, deployed.outputs, Step("serving"))
    return deployed


def test_the_server_is_right_about_the_held_out_digits(served: Deployed) -> None:
    answers = showcase.ask(served.kube, served.outputs)
    assert answers is not None
    assert answers.total == 359
    assert answers.accuracy >= 0.95
    assert answers.predicted == answers.label


def test_the_printed_rest_url_answers_this_machine(served: Deployed) -> None:
    with urllib.request.urlopen(served.outputs.urls["REST"], timeout=PATIENT_SECONDS) as answer:
        status = json.load(answer)
    assert [version["state"] for version in status["model_version_status"]] == ["AVAILABLE"]


def test_the_printed_page_classifies_a_digit_that_is_drawn_with_the_mouse(served: Deployed) -> None:
    # Imported here: only this test needs a browser.
    from playwright.sync_api import expect

    from tests.support import browser

    url = served.outputs.urls["page"]
    browser.answers(url)
    with browser.page(url) as page:
        expect(page.locator("#signature")).to_contain_text("(any, 8, 8)")
        browser.draw(page, browser.SEVEN)
        expect(page.locator("#answer")).to_have_text("7")


def test_the_printed_grpc_address_answers_this_machine(served: Deployed, stubs: Path) -> None:
    # Imported here: the stubs bring TensorFlow along.
    import grpc
    from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc

    with grpc.insecure_channel(served.outputs.urls["gRPC"]) as channel:
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        request.model_spec.name = served.outputs.model
        answer = prediction_service_pb2_grpc.PredictionServiceStub(channel).GetModelMetadata(
            request, timeout=PATIENT_SECONDS
        )
    assert answer.model_spec.version.value == 1


def test_version_1_is_on_the_volume_whole_and_alone(served: Deployed) -> None:
    alive = processes.find(served.instance)
    assert alive
    (model,) = alive.path(Places(served.instance).pool).glob("volumes/*/digits")
    assert [path.name for path in model.iterdir() if not path.name.startswith(".")] == ["1"]
    assert (model / "1" / "saved_model.pb").stat().st_size > 0


def test_the_workers_found_each_other_through_tf_config(served: Deployed) -> None:
    pods = served.kube.items(
        f"/api/v1/namespaces/{served.outputs.namespace}/pods",
        labelSelector=f"jobset.sigs.k8s.io/jobset-name={served.outputs.job_set}",
    )
    names = [pod["spec"]["hostname"] for pod in pods]
    assert len(names) == 2
    for pod in pods:
        variables = {one["name"]: one.get("value", "") for one in pod["spec"]["containers"][0]["env"]}
        assert all(f"{name}.{served.outputs.job_set}" in variables["TF_CONFIG"] for name in names)
    chief = next(pod for pod in pods if pod["spec"]["hostname"].endswith("-0-0"))
    log = served.kube.text(f"/api/v1/namespaces/{served.outputs.namespace}/pods/{chief['metadata']['name']}/log")
    assert "workers=2" in log


def test_kueue_admitted_the_job(served: Deployed) -> None:
    workloads = served.kube.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{served.outputs.namespace}/workloads")
    owners = {owner["name"]: one for one in workloads for owner in one["metadata"].get("ownerReferences", [])}
    conditions = {c["type"]: c["status"] for c in owners[served.outputs.job_set]["status"]["conditions"]}
    assert conditions["Admitted"] == "True"


def _containers(deployed: Deployed) -> Iterator[dict[str, object]]:
    for pod in deployed.kube.items(f"/api/v1/namespaces/{deployed.outputs.namespace}/pods"):
        yield from pod["spec"]["containers"]


def test_the_namespace_enforces_pod_security_restricted(served: Deployed) -> None:
    namespace = served.kube.get(f"/api/v1/namespaces/{served.outputs.namespace}")
    assert namespace is not None
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    containers = list(_containers(served))
    assert containers
    assert all(one["securityContext"]["readOnlyRootFilesystem"] for one in containers)  # type: ignore[index]


def test_secrets_of_the_instance_are_private(served: Deployed) -> None:
    for secret in (served.instance.stacks / "passphrase", served.instance.kubeconfig):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600, secret


def test_a_second_up_changes_nothing(served: Deployed) -> None:
    changes = served.stack.up(Step("pulumi up"), policies=Policies.RUN)
    assert set(changes) == {"same"}
