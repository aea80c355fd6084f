"""The Release resource by the real helm against a real API server, with a chart that the test writes.

Source of the semantics: the input and output docs of `kubernetes:helm.sh/v3:Release` and
provider/pkg/provider/helm_release.go of pulumi-kubernetes v4.32.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.provider import values
from embedded.provider.api import Api
from embedded.provider.gvk import GVK
from embedded.provider.helm_release import ReleaseError, ReleaseFailedError, ReleaseResource
from embedded.provider.session import Session
from embedded.provider.values import UNKNOWN, Properties, Secret, plain
from tests.provider.helm_support import NEVER_READY, OTHER_URN, URN, settings_of
from tests.support.waiting import eventually

pytest_plugins = ["tests.provider.helm_fixtures"]


def test_life_of_a_release(helm: ReleaseResource, inputs: Callable[..., Properties], api: Api, namespace: str) -> None:
    first = inputs(values={"greeting": "hi"})
    identity, outputs = helm.create(URN, first)
    assert identity == f"{namespace}/web"
    assert settings_of(api, namespace) == {"greeting": "hi", "size": "1"}
    assert outputs["status"] == {
        "appVersion": "7",
        "chart": "tiny",
        "name": "web",
        "namespace": namespace,
        "revision": 1,
        "status": "deployed",
        "version": "0.1.0",
    }
    assert outputs["resourceNames"] == {"ConfigMap/v1": ["web-settings"]}
    assert outputs["__inputs"] == Secret(first)
    assert not helm.diff(identity, outputs, first, first).has_changes

    second = inputs(values={"size": 2})
    difference = helm.diff(identity, outputs, first, second)
    assert difference.details == {"values.greeting": "DELETE", "values.size": "ADD"}
    assert difference.changed == ["values"]
    assert difference.replaces == []
    outputs = helm.update(identity, URN, outputs, second)
    assert outputs["status"]["revision"] == 2
    assert settings_of(api, namespace) == {"greeting": "hello", "size": "2"}

    helm.delete(identity, URN, outputs)
    assert helm.read(identity, second, outputs) is None
    helm.delete(identity, URN, outputs)  # already gone is a success


def test_removing_all_values_brings_back_the_charts_own(
    helm: ReleaseResource, inputs: Callable[..., Properties], api: Api, namespace: str
) -> None:
    first = inputs(values={"greeting": "hi"})
    identity, outputs = helm.create(URN, first)
    helm.update(identity, URN, outputs, inputs())
    assert settings_of(api, namespace)["greeting"] == "hello"


def test_check_names_completes_and_keeps_the_name(helm: ReleaseResource, chart: Path) -> None:
    """Documented: auto-named `<resource>-<8 hex digits>`; timeout 300 s unless skipAwait; version from the chart."""
    first, _ = helm.check({}, {"chart": str(chart), "compat": "true"}, b"seed", URN)
    assert first["name"].startswith("tiny-")
    assert len(first["name"]) == len("tiny-") + 8
    assert (first["version"], first["timeout"], first["namespace"]) == ("0.1.0", 300, "default")
    assert "compat" not in first
    second, _ = helm.check(first, {"chart": str(chart), "skipAwait": True}, b"other", URN)
    assert second["name"] == first["name"]
    assert second["timeout"] == 0


@pytest.mark.parametrize("chart_name", ["/nowhere/chart", "./nowhere"])
def test_missing_chart_is_a_check_failure(helm: ReleaseResource, chart_name: str) -> None:
    _, failures = helm.check({}, {"chart": chart_name}, b"seed", URN)
    assert failures == [("chart", f'path "{chart_name}" not found; check the chart name and repository configuration.')]


def test_changed_chart_folder_is_an_update(
    helm: ReleaseResource, inputs: Callable[..., Properties], chart: Path
) -> None:
    """CHANGELOG 4.3.0: "Detect changes to local charts"."""
    first = inputs()
    identity, outputs = helm.create(URN, first)
    (chart / "templates" / "more.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}")
    second = inputs()
    assert helm.diff(identity, outputs, first, second).details == {"checksum": "UPDATE"}
    assert helm.update(identity, URN, outputs, second)["resourceNames"] == {"ConfigMap/v1": ["more", "web-settings"]}


def test_name_and_namespace_replace(helm: ReleaseResource, inputs: Callable[..., Properties]) -> None:
    """helm_release.go: forceNewFields are `.name` and `.namespace`."""
    first = inputs()
    state = {**first, "__inputs": Secret(first)}
    difference = helm.diff("x/web", state, first, inputs(name="new", namespace="other"))
    assert difference.replaces == ["name", "namespace"]


def test_preview_changes_nothing_and_leaves_the_outputs_open(
    helm: ReleaseResource, inputs: Callable[..., Properties], namespace: str
) -> None:
    given = inputs()
    identity, outputs = helm.create(URN, given, preview=True)
    assert identity == ""
    assert outputs["status"] is UNKNOWN
    assert outputs["resourceNames"] is UNKNOWN
    assert helm.read(f"{namespace}/web", given, given) is None
    identity, outputs = helm.create(URN, given)
    assert helm.update(identity, URN, outputs, inputs(values={"size": 3}), preview=True)["status"] is UNKNOWN
    found = helm.read(identity, given, outputs)
    assert found is not None
    assert found[2]["status"]["revision"] == 1


def test_preview_finds_a_template_that_does_not_render(
    helm: ReleaseResource, inputs: Callable[..., Properties], chart: Path
) -> None:
    (chart / "templates" / "settings.yaml").write_text('{{ required "greeting is required" .Values.nothing }}')
    with pytest.raises(ReleaseError, match="greeting is required"):
        helm.create(URN, inputs(), preview=True)


def test_preview_finds_an_object_that_belongs_to_somebody_else(
    helm: ReleaseResource, inputs: Callable[..., Properties], api: Api, namespace: str
) -> None:
    metadata = {"name": "web-settings", "namespace": namespace}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, manager="somebody")
    with pytest.raises(ReleaseError, match="cannot be imported into the current release"):
        helm.create(URN, inputs(), preview=True)


def test_preview_accepts_kinds_that_come_later(
    helm: ReleaseResource, inputs: Callable[..., Properties], chart: Path
) -> None:
    (chart / "templates" / "settings.yaml").write_text("{apiVersion: later.org/v1, kind: Thing, metadata: {name: x}}")
    helm.create(URN, inputs(), preview=True)


def test_unknown_values_pass_check_and_preview(helm: ReleaseResource, inputs: Callable[..., Properties]) -> None:
    given = inputs(values={"greeting": UNKNOWN})
    assert given["values"] == {"greeting": UNKNOWN}
    assert helm.create(URN, given, preview=True)[1]["values"] == {"greeting": UNKNOWN}


def test_value_files_come_before_values(
    helm: ReleaseResource, inputs: Callable[..., Properties], tmp_path: Path
) -> None:
    """Documented: "List of assets … Content is read as values"; `values` are "merged with items loaded from values"."""
    file = tmp_path / "values.yaml"
    file.write_text("{greeting: file, size: 5, deep: {a: 1, b: [1, 2]}}")
    asset = {"4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17"}
    given = inputs(
        valueYamlFiles=[asset | {"path": str(file)}, asset | {"text": "size: 6"}],
        values={"greeting": "own", "deep": {"b": []}},
    )
    assert given["values"] == {"greeting": "own", "size": 6, "deep": {"a": 1, "b": []}}
    assert "valueYamlFiles" not in given


def test_secrets_stay_secret_in_state_and_messages(
    helm: ReleaseResource, inputs: Callable[..., Properties], api: Api, namespace: str, chart: Path
) -> None:
    given = inputs(values={"greeting": Secret("open sesame")})
    identity, outputs = helm.create(URN, given)
    assert settings_of(api, namespace)["greeting"] == "open sesame"
    assert outputs["values"] == {"greeting": Secret("open sesame")}
    found = helm.read(identity, given, outputs)
    assert found is not None
    assert found[2] == outputs
    (chart / "templates" / "settings.yaml").write_text("{{ fail .Values.greeting }}")
    with pytest.raises(ReleaseError) as failure:
        helm.update(identity, URN, outputs, inputs(values={"greeting": Secret("open sesame")}))
    assert "open sesame" not in str(failure.value)
    assert "[secret]" in str(failure.value)


def test_refresh_finds_drift_and_the_next_update_rights_it(
    helm: ReleaseResource, inputs: Callable[..., Properties], api: Api, namespace: str
) -> None:
    given = inputs(values={"greeting": "hi"})
    identity, outputs = helm.create(URN, given)
    helm.update(identity, URN, outputs, inputs(values={"greeting": "changed by somebody"}))
    found = helm.read(identity, given, outputs)
    assert found is not None
    refreshed = found[2]
    assert plain(refreshed["values"]) == {"greeting": "changed by somebody"}
    assert helm.diff(identity, refreshed, given, given).details == {"values.greeting": "UPDATE"}
    helm.update(identity, URN, refreshed, given)
    assert settings_of(api, namespace)["greeting"] == "hi"


def test_release_removed_by_somebody_is_made_again(
    helm: ReleaseResource, inputs: Callable[..., Properties], api: Api, namespace: str
) -> None:
    given = inputs()
    identity, outputs = helm.create(URN, given)
    helm.delete(identity, URN, outputs)
    assert helm.update(identity, URN, outputs, given)["status"]["status"] == "deployed"
    assert settings_of(api, namespace)


def test_import_reads_the_release_by_its_id(
    helm: ReleaseResource, inputs: Callable[..., Properties], namespace: str
) -> None:
    helm.create(URN, inputs(values={"size": 4}))
    found = helm.read(f"{namespace}/web", {}, {})
    assert found is not None
    identity, imported, state = found
    assert identity == f"{namespace}/web"
    assert (imported["chart"], imported["version"], imported["values"]) == ("tiny", "0.1.0", {"size": 4})
    assert state["status"]["status"] == "deployed"


def test_release_of_somebody_else_is_not_touched(
    helm: ReleaseResource, inputs: Callable[..., Properties], api: Api, namespace: str
) -> None:
    helm.create(OTHER_URN, inputs(values={"greeting": "theirs"}))
    with pytest.raises(ReleaseError, match="not made by this resource") as failure:
        helm.create(URN, inputs(values={"greeting": "ours"}))
    assert not isinstance(failure.value, ReleaseFailedError)
    assert settings_of(api, namespace)["greeting"] == "theirs"


def test_create_namespace(helm: ReleaseResource, inputs: Callable[..., Properties], api: Api, namespace: str) -> None:
    made = f"{namespace}-made"
    identity, outputs = helm.create(URN, inputs(namespace=made, createNamespace=True))
    try:
        assert settings_of(api, made)
        helm.delete(identity, URN, outputs)
    finally:
        api.delete(GVK("", "v1", "Namespace"), made)


def test_failed_install_is_kept_and_upgraded_by_the_next_update(
    helm: ReleaseResource, inputs: Callable[..., Properties], chart: Path
) -> None:
    """helm_release.go: a failed release that exists is a partial state; "correct it, then retry"."""
    (chart / "templates" / "never.yaml").write_text(NEVER_READY)
    given = inputs(timeout=2)
    with pytest.raises(ReleaseFailedError) as failure:
        helm.create(URN, given)
    assert failure.value.outputs["status"]["status"] == "failed"
    assert "failed to initialize completely" in failure.value.message
    assert any("never" in reason for reason in failure.value.reasons)
    (chart / "templates" / "never.yaml").unlink()
    outputs = helm.update(failure.value.identity, URN, failure.value.outputs, inputs())
    assert outputs["status"]["status"] == "deployed"


def test_atomic_install_leaves_nothing(helm: ReleaseResource, inputs: Callable[..., Properties], chart: Path) -> None:
    """Documented: "If set, installation process purges chart on fail"."""
    (chart / "templates" / "never.yaml").write_text(NEVER_READY)
    given = inputs(timeout=2, atomic=True)
    with pytest.raises(ReleaseError) as failure:
        helm.create(URN, given)
    assert not isinstance(failure.value, ReleaseFailedError)
    assert helm.read("x/web", given, given) is None


def test_skip_await_does_not_wait(helm: ReleaseResource, inputs: Callable[..., Properties], chart: Path) -> None:
    (chart / "templates" / "never.yaml").write_text(NEVER_READY)
    _, outputs = helm.create(URN, inputs(skipAwait=True))
    assert outputs["status"]["status"] == "deployed"


def test_cancellation_stops_helm_and_keeps_what_is_there(
    helm: ReleaseResource,
    session: Session,
    inputs: Callable[..., Properties],
    chart: Path,
    api: Api,
    namespace: str,
) -> None:
    (chart / "templates" / "never.yaml").write_text(NEVER_READY)
    given = inputs(timeout=3600)

    def cancel() -> None:
        # Made after the release was recorded.
        eventually(lambda: api.list(GVK("", "v1", "Pod"), namespace))
        session.cancelled.set()

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(ReleaseFailedError, match="cancelled") as failure:
        helm.create(URN, given)
    cancelling.join()
    session.cancelled.clear()
    assert failure.value.outputs["status"]["status"] == "failed"
    outputs = helm.update(failure.value.identity, URN, failure.value.outputs, inputs(skipAwait=True))
    assert outputs["status"]["status"] == "deployed"


def test_state_survives_the_wire(helm: ReleaseResource, inputs: Callable[..., Properties]) -> None:
    given = inputs(values={"greeting": Secret("open sesame"), "size": 1.5, "none": None, "list": [1, {"a": True}]})
    identity, outputs = helm.create(URN, given)
    back = values.decode(values.encode(outputs))
    assert back == outputs
    assert not helm.diff(identity, back, plain(back["__inputs"]), given).has_changes
