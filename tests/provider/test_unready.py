"""What becomes of an object that was made but is not ready, and of work that is cancelled.

Source of the semantics: partialError, Read and Cancel in provider/pkg/provider/provider.go of pulumi-kubernetes v4.32,
and ErrorResourceInitFailed in pulumi's provider.proto.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tests.provider.driver import CONFIG_MAP, Driver, Failed, configured
from tests.provider.objects import config_map, never_ready
from tests.support.waiting import eventually

POD = "kubernetes:core/v1:Pod"


def test_an_object_that_is_not_ready_in_time_is_kept_in_the_state(
    provider: Driver, api: Objects, namespace: str
) -> None:
    said = len(provider.engine.said)
    with pytest.raises(Failed) as failure:
        provider.create(POD, never_ready(namespace), timeout=0.1)
    assert failure.value.resource_id == f"{namespace}/never"
    assert failure.value.state is not None
    assert (
        failure.value.state["metadata"]["uid"] == api.get(GVK("", "v1", "Pod"), "never", namespace)["metadata"]["uid"]
    )
    assert failure.value.state["__inputs"] == never_ready(namespace)
    assert "timed out" in failure.value.reasons[0]
    status = [message.message for message in provider.engine.said[said:] if message.ephemeral]
    assert any("Pod" in text for text in status), "the progress column says what is waited for"
    assert status[-1] == "", "and is cleared in the end"

    resource_id, state = failure.value.resource_id, failure.value.state
    with pytest.raises(Failed, match="not ready") as failure:
        provider.read(POD, resource_id, never_ready(namespace), state)
    assert failure.value.state is not None, "a refresh says that it is still not ready"
    provider.delete(POD, resource_id, state)


def test_skip_await_returns_at_once(provider: Driver, namespace: str) -> None:
    annotations = {"pulumi.com/skipAwait": "true"}
    resource_id, state = provider.create(POD, never_ready(namespace, **annotations))
    assert provider.read(POD, resource_id, never_ready(namespace, **annotations), state)[0] == resource_id


def test_cancel_ends_all_waits_and_the_retries_of_a_create(kubeconfig: dict[str, Any], namespace: str) -> None:
    """A create whose namespace is not there is tried again for half a minute (Creation in await.go)."""
    lost = f"{namespace}-lost"
    with configured(kubeconfig) as provider, ThreadPoolExecutor(1) as pool:
        # The provider waits for the engine's answer meanwhile.
        provider.engine.on_log = lambda text: provider.cancel() if text.startswith("Retry #1; creation failed") else ""
        waiting = pool.submit(provider.create, POD, never_ready(namespace))
        eventually(lambda: provider.engine.texts(ephemeral=True))
        with pytest.raises(Failed, match=rf'creation was cancelled.*namespaces "{lost}" not found'):
            provider.create(CONFIG_MAP, config_map(lost))
        with pytest.raises(Failed, match="cancelled") as failure:
            waiting.result()
    assert failure.value.state is not None, "what was made is kept"


def test_a_namespace_that_comes_later_is_waited_for(kubeconfig: dict[str, Any], api: Objects, namespace: str) -> None:
    """Source: Creation in await.go, "tolerate some amount of misordering"."""
    later = f"{namespace}-later"
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": later}}
    with configured(kubeconfig) as provider:
        provider.engine.on_log = lambda text: api.create(made, manager="tests") if text.startswith("Retry #1") else ""
        resource_id, _ = provider.create(CONFIG_MAP, config_map(later))
    assert resource_id == f"{later}/settings"
    api.delete(GVK.of(made), later)
