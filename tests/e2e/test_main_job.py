"""The main job, end to end: two workers train on real digits, a server answers, a second run changes nothing."""

from __future__ import annotations

import json
import stat
import urllib.request

import grpc
import pytest

from tensorplane.cli.kueue.objects import condition
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.core.step import Step
from tensorplane.driver import digits_demo, watch
from tensorplane.driver.update.policy_pack import Policies
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.support import admitted
from tests.support.waiting import PATIENT_SECONDS

_METADATA = "/tensorflow.serving.PredictionService/GetModelMetadata"


@pytest.fixture(scope="module")
def served(deployed: Deployed) -> Deployed:
    """After training and with the server Ready."""
    watch.wait_for_training(deployed.kube, deployed.outputs, Step("training"))
    watch.wait_for_serving(deployed.kube, deployed.outputs, Step("serving"))
    return deployed


def test_the_server_is_right_about_the_held_out_digits(served: Deployed) -> None:
    predictions = digits_demo.predict_all(served.kube, served.outputs)
    assert predictions is not None
    assert predictions.total == 359
    assert predictions.accuracy >= 0.95
    assert predictions.predicted == predictions.label


def test_the_printed_rest_url_answers_this_machine(served: Deployed) -> None:
    with urllib.request.urlopen(served.outputs.urls["REST"], timeout=PATIENT_SECONDS) as answer:
        status = json.load(answer)
    assert [version["state"] for version in status["model_version_status"]] == ["AVAILABLE"]


def test_the_printed_page_answers_this_machine(served: Deployed) -> None:
    with urllib.request.urlopen(served.outputs.urls["page"], timeout=PATIENT_SECONDS) as answer:
        assert 'id="signature"' in answer.read().decode()


@pytest.mark.nightly("a browser; told by serving/test_model_page.py")
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


def test_the_printed_grpc_address_answers_this_machine(served: Deployed) -> None:
    # Written by hand, because the generated messages bring TensorFlow along: model_spec {name} and metadata_field.
    request = _field(1, _field(1, served.outputs.model.encode())) + _field(2, b"signature_def")
    with grpc.insecure_channel(served.outputs.urls["gRPC"]) as channel:
        ask = channel.unary_unary(_METADATA, request_serializer=bytes, response_deserializer=bytes)
        answer: bytes = ask(request, timeout=PATIENT_SECONDS)
    version = b"\x12\x02\x08\x01"
    assert answer.startswith(_field(1, _field(1, served.outputs.model.encode()) + version)), "version 1"
    assert b"serving_default" in answer


def _field(number: int, content: bytes) -> bytes:
    """A short field of a message that has a length."""
    return bytes([number << 3 | 2, len(content)]) + content


def test_version_1_is_on_the_volume_whole_and_alone(served: Deployed) -> None:
    model = stacks.volume_folder(served, served.outputs.namespace, "models") / "digits"
    assert [path.name for path in model.iterdir() if not path.name.startswith(".")] == ["1"]
    assert (model / "1" / "saved_model.pb").stat().st_size > 0


def test_the_workers_found_each_other_through_tf_config(served: Deployed) -> None:
    pods = served.kube.items(
        f"/api/v1/namespaces/{served.outputs.namespace}/pods",
        labelSelector=f"jobset.sigs.k8s.io/jobset-name={served.outputs.job_set}",
    )
    names = {pod["spec"]["hostname"] for pod in pods}
    assert len(names) == 2
    for pod in pods:
        variables = {one["name"]: one.get("value", "") for one in pod["spec"]["containers"][0]["env"]}
        assert all(f"{name}.{served.outputs.job_set}" in variables["TF_CONFIG"] for name in names)
    chief = next(pod for pod in pods if pod["spec"]["hostname"].endswith("-0-0"))
    log = served.kube.text(f"/api/v1/namespaces/{served.outputs.namespace}/pods/{chief['metadata']['name']}/log")
    assert "workers=2" in log


def test_kueue_admitted_the_job(served: Deployed) -> None:
    job = served.kube.get(
        jobset_api.path({"metadata": {"namespace": served.outputs.namespace, "name": served.outputs.job_set}})
    )
    assert job
    assert condition(admitted.by_owner(served.kube, served.outputs.namespace)[job["metadata"]["uid"]], "Admitted").holds


def test_the_namespace_enforces_pod_security_restricted(served: Deployed) -> None:
    namespace = served.kube.get(f"/api/v1/namespaces/{served.outputs.namespace}")
    assert namespace is not None
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    # A stage of a pipeline may write to its image's files.
    own = {"labelSelector": "app.kubernetes.io/name in (digits,digits-server)"}
    pods = served.kube.items(f"/api/v1/namespaces/{served.outputs.namespace}/pods", **own)
    containers = [one for pod in pods for one in pod["spec"]["containers"]]
    assert containers
    assert all(one["securityContext"].get("readOnlyRootFilesystem") for one in containers)


def test_secrets_of_the_instance_are_private(served: Deployed) -> None:
    for secret in (served.instance.stacks / "passphrase", served.instance.kubeconfig):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600, secret


def test_a_second_up_changes_nothing(served: Deployed) -> None:
    changes = served.stack.up(Step("pulumi up"), policies=Policies.RUN)
    assert set(changes) == {"same"}
