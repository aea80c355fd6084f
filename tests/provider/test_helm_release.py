"""The Release resource by the real helm against a real API server, with a chart that the test writes.

Source of the semantics: the input and output docs of `kubernetes:helm.sh/v3:Release` and
provider/pkg/provider/helm_release.go of pulumi-kubernetes v4.32.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tensorplane.core.gvk import GVK
from tensorplane.plugins.kubernetes import helm_process, values
from tensorplane.plugins.kubernetes.helm_release import ReleaseError, ReleaseFailedError, ReleaseResource
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import UNKNOWN, Secret, plain
from tests.provider.await_support import LONG_SECONDS
from tests.provider.helm_support import OTHER_URN, URN, Release
from tests.provider.objects import config_map
from tests.support.waiting import eventually

pytest_plugins = ["tests.provider.helm_fixtures"]

ASSET = {"4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17"}
"""Pulumi's mark of an asset."""


def test_life_of_a_release(release: Release) -> None:
    helm, namespace = release.helm, release.namespace
    first = release.inputs(values={"greeting": "hi", "count": 1.5, "none": None, "list": [1, {"a": True}]})
    resource_id, outputs = helm.create(URN, first)
    assert resource_id == f"{namespace}/web"
    assert release.settings() == {"greeting": "hi", "size": "1"}
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
    assert values.decode(values.encode(outputs)) == outputs, "the state survives the engine's wire format"
    assert not helm.diff(resource_id, outputs, first, first).has_changes

    second = release.inputs(values={"size": 2})
    difference = helm.diff(resource_id, outputs, first, second)
    assert difference.details == {
        "values.count": "DELETE",
        "values.greeting": "DELETE",
        "values.list": "DELETE",
        "values.size": "ADD",
    }
    assert difference.changed == ["values"]
    assert difference.replaces == []
    outputs = helm.update(resource_id, URN, outputs, second)
    assert outputs["status"]["revision"] == 2
    assert release.settings() == {"greeting": "hello", "size": "2"}

    helm.delete(resource_id, URN, outputs)
    assert helm.read(resource_id, second, outputs) is None
    helm.delete(resource_id, URN, outputs)  # already gone is a success


@pytest.mark.nightly("the life of a release removes a value, too")
def test_removing_all_values_brings_back_the_charts_own(release: Release) -> None:
    _, outputs = release.create(values={"greeting": "hi"})
    release.update(outputs)
    assert release.settings()["greeting"] == "hello"


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


@pytest.mark.nightly("two installs")
def test_changed_chart_folder_is_an_update(release: Release) -> None:
    """CHANGELOG 4.3.0: "Detect changes to local charts"."""
    first = release.inputs()
    resource_id, outputs = release.create()
    release.template("{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}", "more")
    assert release.helm.diff(resource_id, outputs, first, release.inputs()).details == {"checksum": "UPDATE"}
    assert release.update(outputs)["resourceNames"] == {"ConfigMap/v1": ["more", "web-settings"]}


def test_name_and_namespace_replace(release: Release) -> None:
    """helm_release.go: forceNewFields are `.name` and `.namespace`."""
    first = release.inputs()
    state = {**first, "__inputs": Secret(first)}
    difference = release.helm.diff("x/web", state, first, release.inputs(name="new", namespace="other"))
    assert difference.replaces == ["name", "namespace"]


def test_preview_changes_nothing_and_leaves_the_outputs_open(release: Release) -> None:
    outputs = release.preview()
    assert outputs["status"] is UNKNOWN
    assert outputs["resourceNames"] is UNKNOWN
    given = release.inputs()
    assert release.helm.read(f"{release.namespace}/web", given, given) is None
    resource_id, outputs = release.create()
    changed = release.inputs(values={"size": 3})
    assert release.helm.update(resource_id, URN, outputs, changed, preview=True)["status"] is UNKNOWN
    assert release.read(outputs)["status"]["revision"] == 1


def test_preview_finds_a_template_that_does_not_render(release: Release) -> None:
    release.template('{{ required "greeting is required" .Values.nothing }}')
    with pytest.raises(ReleaseError, match="greeting is required"):
        release.preview()


def test_preview_finds_an_object_that_belongs_to_somebody_else(release: Release) -> None:
    release.api.create(config_map(release.namespace, name="web-settings"), manager="somebody")
    with pytest.raises(ReleaseError, match="cannot be imported into the current release"):
        release.preview()


def test_preview_accepts_kinds_that_come_later(release: Release) -> None:
    release.template("{apiVersion: later.org/v1, kind: Thing, metadata: {name: x}}")
    release.preview()


def test_unknown_values_pass_check_and_preview(release: Release) -> None:
    given = {"greeting": UNKNOWN}
    assert release.inputs(values=given)["values"] == given
    assert release.preview(values=given)["values"] == given


def test_value_files_come_before_values(release: Release, tmp_path: Path) -> None:
    """Documented: "List of assets … Content is read as values"; `values` are "merged with items loaded from values"."""
    file = tmp_path / "values.yaml"
    file.write_text("{greeting: file, size: 5, deep: {a: 1, b: [1, 2]}}")
    given = release.inputs(
        valueYamlFiles=[ASSET | {"path": str(file)}, ASSET | {"text": "size: 6"}],
        values={"greeting": "own", "deep": {"b": []}},
    )
    assert given["values"] == {"greeting": "own", "size": 6, "deep": {"a": 1, "b": []}}
    assert "valueYamlFiles" not in given


def test_secrets_stay_secret_in_state_and_messages(release: Release) -> None:
    given = {"greeting": Secret("open sesame")}
    _, outputs = release.create(values=given)
    assert release.settings()["greeting"] == "open sesame"
    assert outputs["values"] == given
    assert values.decode(values.encode(outputs)) == outputs
    assert release.read(outputs, values=given) == outputs
    release.template("{{ fail .Values.greeting }}")
    with pytest.raises(ReleaseError) as failure:
        release.update(outputs, values=given)
    assert "open sesame" not in str(failure.value)
    assert "[secret]" in str(failure.value)


def test_refresh_finds_drift_and_the_next_update_rights_it(release: Release) -> None:
    given = release.inputs(values={"greeting": "hi"})
    resource_id, outputs = release.create(values={"greeting": "hi"})
    release.update(outputs, values={"greeting": "changed by somebody"})
    refreshed = release.read(outputs, values={"greeting": "hi"})
    assert plain(refreshed["values"]) == {"greeting": "changed by somebody"}
    assert release.helm.diff(resource_id, refreshed, given, given).details == {"values.greeting": "UPDATE"}
    release.update(refreshed, values={"greeting": "hi"})
    assert release.settings()["greeting"] == "hi"


@pytest.mark.nightly("three helm operations for a rare case")
def test_release_removed_by_somebody_is_made_again(release: Release) -> None:
    resource_id, outputs = release.create()
    release.helm.delete(resource_id, URN, outputs)
    assert release.update(outputs)["status"]["status"] == "deployed"
    assert release.settings()


def test_import_reads_the_release_by_its_id(release: Release) -> None:
    release.create(values={"size": 4})
    found = release.helm.read(f"{release.namespace}/web", {}, {})
    assert found is not None
    resource_id, imported, state = found
    assert resource_id == f"{release.namespace}/web"
    assert (imported["chart"], imported["version"], imported["values"]) == ("tiny", "0.1.0", {"size": 4})
    assert state["status"]["status"] == "deployed"


def test_release_of_somebody_else_is_not_touched(release: Release) -> None:
    release.helm.create(OTHER_URN, release.inputs(values={"greeting": "theirs"}))
    with pytest.raises(ReleaseError, match="not made by this resource") as failure:
        release.create(values={"greeting": "ours"})
    assert not isinstance(failure.value, ReleaseFailedError)
    assert release.settings()["greeting"] == "theirs"


@pytest.mark.nightly("told by the charts of every `make up`")
def test_create_namespace(release: Release) -> None:
    made = f"{release.namespace}-made"
    resource_id, outputs = release.create(namespace=made, createNamespace=True)
    try:
        assert release.settings(made)
        release.helm.delete(resource_id, URN, outputs)
    finally:
        release.api.delete(GVK("", "v1", "Namespace"), made)


def test_failed_install_is_kept_and_upgraded_by_the_next_update(release: Release) -> None:
    """helm_release.go: a failed release that exists is a partial state; "correct it, then retry"."""
    never = release.never_ready()
    with pytest.raises(ReleaseFailedError) as failure:
        release.create(timeout=1)
    assert failure.value.outputs["status"]["status"] == "failed"
    assert "failed to initialize completely" in failure.value.message
    assert any("never" in reason for reason in failure.value.reasons)
    never.unlink()
    assert release.update(failure.value.outputs)["status"]["status"] == "deployed"


@pytest.mark.nightly("waits until a time is up")
def test_atomic_install_leaves_nothing(release: Release) -> None:
    """Documented: "If set, installation process purges chart on fail"."""
    release.never_ready()
    given = release.inputs(timeout=1, atomic=True)
    with pytest.raises(ReleaseError) as failure:
        release.helm.create(URN, given)
    assert not isinstance(failure.value, ReleaseFailedError)
    assert release.helm.read(f"{release.namespace}/web", given, given) is None


@pytest.mark.nightly("helm's flags tell it")
def test_skip_await_does_not_wait(release: Release) -> None:
    release.never_ready()
    assert release.create(skipAwait=True)[1]["status"]["status"] == "deployed"


@pytest.mark.nightly("helm is stopped at a state")
def test_cancellation_stops_helm_and_keeps_what_is_there(
    release: Release, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However long helm takes to record that it failed.
    monkeypatch.setattr(helm_process, "_GRACE_SECONDS", LONG_SECONDS)
    release.never_ready()
    with ThreadPoolExecutor(1) as pool:
        creating = pool.submit(release.create, timeout=3600)
        eventually(release.pods)  # made after the release was recorded
        session.cancelled.set()
        with pytest.raises(ReleaseFailedError, match="cancelled") as failure:
            creating.result()
    session.cancelled.clear()
    assert failure.value.outputs["status"]["status"] == "failed"
    assert release.update(failure.value.outputs, skipAwait=True)["status"]["status"] == "deployed"
