"""What becomes of an object that was made but is not ready, and of work that is cancelled.

Source of the semantics: partialError, Read and Cancel in provider/pkg/provider/provider.go of pulumi-kubernetes v4.32,
and ErrorResourceInitFailed in pulumi's provider.proto.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from embedded.provider.api import Api
from embedded.provider.gvk import GVK
from embedded.provider.values import Properties
from tests.provider.driver import CONFIG_MAP, Driver, Failed, configured
from tests.support.waiting import PATIENT_SECONDS, eventually

POD = "kubernetes:core/v1:Pod"


def pod(namespace: str, **annotations: str) -> Properties:
    """Nothing runs pods here, so this one is never ready."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": namespace, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": "a:1"}], "terminationGracePeriodSeconds": 0},
    }


def test_an_object_that_is_not_ready_in_time_is_kept_in_the_state(provider: Driver, api: Api, namespace: str) -> None:
    said = len(provider.engine.said)
    with pytest.raises(Failed) as failure:
        provider.create(POD, pod(namespace), timeout=1)
    assert failure.value.identity == f"{namespace}/x"
    assert failure.value.state is not None
    assert failure.value.state["metadata"]["uid"] == api.get(GVK("", "v1", "Pod"), "x", namespace)["metadata"]["uid"]
    assert failure.value.state["__inputs"] == pod(namespace)
    assert "timed out" in failure.value.reasons[0]
    status = [message.message for message in provider.engine.said[said:] if message.ephemeral]
    assert any("Pod" in text for text in status), "the progress column says what is waited for"
    assert status[-1] == "", "and is cleared in the end"

    identity, state = failure.value.identity, failure.value.state
    with pytest.raises(Failed, match="not ready") as failure:
        provider.read(POD, identity, pod(namespace), state)
    assert failure.value.state is not None, "a refresh says that it is still not ready"
    provider.delete(POD, identity, state)


def test_skip_await_returns_at_once(provider: Driver, namespace: str) -> None:
    annotations = {"pulumi.com/skipAwait": "true"}
    identity, state = provider.create(POD, pod(namespace, **annotations))
    assert provider.read(POD, identity, pod(namespace, **annotations), state)[0] == identity


def test_cancel_ends_all_waits(kubeconfig: dict[str, Any], namespace: str, tmp_path: Path) -> None:
    with configured(tmp_path, kubeconfig) as provider:
        failures: list[Failed] = []

        def create() -> None:
            with pytest.raises(Failed) as failure:
                provider.create(POD, pod(namespace))
            failures.append(failure.value)

        thread = threading.Thread(target=create)
        thread.start()
        eventually(lambda: provider.engine.texts(ephemeral=True))
        provider.cancel()
        thread.join(PATIENT_SECONDS)
        assert not thread.is_alive()
    assert "cancelled" in failures[0].message
    assert failures[0].state is not None, "what was made is kept"


def test_cancel_ends_the_retries_of_a_create(kubeconfig: dict[str, Any], tmp_path: Path) -> None:
    """A create whose namespace is not there is tried again for half a minute (Creation in await.go)."""
    inputs: Properties = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "nowhere"}}
    with configured(tmp_path, kubeconfig) as provider:

        def cancel() -> None:
            eventually(lambda: any(text.startswith("Retry #1; creation failed") for text in told()))
            provider.cancel()

        def told() -> list[str]:
            return provider.engine.texts(ephemeral=True)

        cancelling = threading.Thread(target=cancel)
        cancelling.start()
        with pytest.raises(Failed, match=r'creation was cancelled.*namespaces "nowhere" not found'):
            provider.create(CONFIG_MAP, inputs)
        cancelling.join()


def test_a_namespace_that_comes_later_is_waited_for(provider: Driver, api: Api) -> None:
    """Source: Creation in await.go, "tolerate some amount of misordering"."""
    name = "comes-later"
    inputs: Properties = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": name}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    threading.Timer(0.5, lambda: api.create(namespace, manager="tests")).start()
    identity, _ = provider.create(CONFIG_MAP, inputs)
    assert identity == f"{name}/x"
    api.delete(GVK("", "v1", "Namespace"), name)
