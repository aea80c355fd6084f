"""The normal form of a Release's inputs, helm's flags and the difference, without helm and without a cluster.

Source: the Release struct, setDefaults, checkpointRelease and Diff in provider/pkg/provider/helm_release.go of
pulumi-kubernetes v4.32, and MergeMaps in provider/pkg/helm.
"""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tensorplane.core.errors import UserError
from tensorplane.plugins.kubernetes import helm_flags, helm_inputs
from tensorplane.plugins.kubernetes.engine import Engine
from tensorplane.plugins.kubernetes.helm_live import Live
from tensorplane.plugins.kubernetes.helm_process import private_file
from tensorplane.plugins.kubernetes.helm_release import ReleaseResource
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import UNKNOWN, Secret, plain

leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8
)
maps = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)

RESOURCE = ReleaseResource(Session(Engine(None)), "no helm is run here")

# The fields that pulumi-kubernetes writes for a Release with a chart and nothing else, with its zero values.
OFFICIAL = {
    "allowNullValues": False,
    "atomic": False,
    "chart": "tiny",
    "cleanupOnFail": False,
    "createNamespace": False,
    "dependencyUpdate": False,
    "description": "",
    "devel": False,
    "disableCRDHooks": False,
    "disableOpenapiValidation": False,
    "disableWebhooks": False,
    "forceUpdate": False,
    "keyring": "",
    "lint": False,
    "name": "web",
    "namespace": "default",
    "postrender": "",
    "recreatePods": False,
    "renderSubchartNotes": False,
    "replace": False,
    "resetValues": False,
    "reuseValues": False,
    "skipAwait": False,
    "skipCrds": False,
    "timeout": 300,
    "values": {},
    "verify": False,
    "version": "0.1.0",
    "waitForJobs": False,
}


def normal(**news: Any) -> dict[str, Any]:
    return helm_inputs.normal({"chart": "tiny", "name": "web", "version": "0.1.0"} | news, "")


def test_normal_form_is_the_official_one() -> None:
    assert normal(compat="true", resourceNames={}) == OFFICIAL


@given(maps)
def test_normal_form_is_its_own_normal_form(values: dict[str, Any]) -> None:
    once = normal(values=values, repositoryOpts={"repo": "stable"}, maxHistory=3)
    assert normal(**once) == once


@given(maps)
def test_marks_of_secret_and_unknown_values_survive(values: dict[str, Any]) -> None:
    given = {"open": values, "hidden": Secret(values), "later": UNKNOWN, "deep": {"hidden": Secret("x")}}
    assert normal(values=given)["values"] == given
    assert normal(values=Secret(given))["values"] == Secret(plain(given))


def test_a_secret_value_file_makes_all_values_secret() -> None:
    asset = {"4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17", "text": "a: 1"}
    assert normal(valueYamlFiles=[Secret(asset)])["values"] == Secret({"a": 1})


@pytest.mark.parametrize("text", ["[1, 2]", "a: [", "just words"])
def test_a_value_file_that_holds_no_map_is_a_fault(text: str) -> None:
    asset = {"4dabf18193072939515e22adb298388d": "c44067f5952c0a294b673a41bacd8c17", "text": text}
    with pytest.raises(UserError, match="valueYamlFiles"):
        normal(valueYamlFiles=[asset])


@given(maps, maps)
def test_merge_keeps_what_only_one_side_has_and_prefers_the_second(one: dict[str, Any], two: dict[str, Any]) -> None:
    before = copy.deepcopy((one, two))
    result = helm_inputs.merged(one, two)
    assert set(result) == {*one, *two}
    for key, value in result.items():
        if isinstance(one.get(key), dict) and isinstance(two.get(key), dict):
            assert value == helm_inputs.merged(one[key], two[key])
        else:
            assert value == (two[key] if key in two else one[key])
    assert (one, two) == before


@given(maps, maps)
@example({"a": []}, {"a": [None]})
@example({"a": [None]}, {"a": []})
def test_difference_is_empty_exactly_when_the_inputs_agree(one: dict[str, Any], two: dict[str, Any]) -> None:
    before, after = normal(values=one), normal(values=two)
    state = {**before, "__inputs": Secret(before), "status": {"revision": 1}, "resourceNames": {}}
    assert not RESOURCE.diff("default/web", state, before, before).has_changes
    # Null is no value: setting or dropping one changes nothing in the chart's eyes until it meets a default.
    if _without_nulls(one) != _without_nulls(two):
        assert RESOURCE.diff("default/web", state, before, after).has_changes


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def test_values_that_the_cluster_has_beyond_the_inputs_are_no_difference() -> None:
    """Diff is a three-way merge that ignores what only the state has."""
    inputs = normal(values={"a": 1})
    state = {**inputs, "values": {"a": 1, "b": 2}, "__inputs": Secret(inputs)}
    assert not RESOURCE.diff("default/web", state, inputs, inputs).has_changes


def test_checksum_of_an_old_official_state_is_no_difference() -> None:
    """Diff drops `checksum` and `resourceNames` from old inputs, which 4.3 and 4.4 wrote."""
    inputs = normal()
    old = inputs | {"checksum": "1", "resourceNames": {"ConfigMap/v1": ["a"]}}
    assert not RESOURCE.diff("default/web", {**old, "__inputs": Secret(old)}, old, inputs).has_changes


def test_ignored_version_is_no_difference() -> None:
    before, after = normal(), normal(version="0.2.0")
    assert RESOURCE.diff("default/web", before, before, after).details == {"version": "UPDATE"}
    assert not RESOURCE.diff("default/web", before, before, after, ["version"]).has_changes


def test_flags_follow_the_documented_inputs() -> None:
    release = normal(atomic=True, waitForJobs=True, skipCrds=True, disableWebhooks=True, timeout=9, description="x y")
    install = helm_flags.install(release, None)
    for flag in ("--atomic", "--wait", "--wait-for-jobs", "--skip-crds", "--no-hooks"):
        assert flag in install
    assert install[install.index("--timeout") + 1] == "9s"
    assert install[install.index("--description") + 1] == "x y"
    upgrade = helm_flags.upgrade(normal(disableCRDHooks=True, maxHistory=4, forceUpdate=True), 60)
    assert {"--install", "--no-hooks", "--force", "--reset-values"} <= set(upgrade)
    assert upgrade[upgrade.index("--history-max") + 1] == "4"
    assert upgrade[upgrade.index("--timeout") + 1] == "60s"  # the resource option customTimeouts
    assert "--reuse-values" in helm_flags.upgrade(normal(reuseValues=True), None)


def test_skip_await_waits_for_nothing_not_even_jobs() -> None:
    """Documented on waitForJobs: "This is ignored if `skipAwait` is enabled"."""
    release = normal(skipAwait=True, waitForJobs=True)
    assert not {"--wait", "--wait-for-jobs"} & set(helm_flags.install(release, None))
    assert helm_flags.uninstall(release, None) == []
    assert "--wait" in helm_flags.uninstall(release | {"atomic": True}, None)


def test_resource_names_are_grouped_as_documented() -> None:
    manifest = """
kind: Deployment
apiVersion: apps/v1
metadata: {name: b, namespace: x}
---
# nothing
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: a}
---
{kind: ConfigMap, apiVersion: v1, metadata: {name: c}}
"""
    live = Live("web", "default", 1, "deployed", "tiny", "0.1.0", "", {}, manifest)
    assert live.resource_names() == {"Deployment.apps/apps/v1": ["a", "x/b"], "ConfigMap/v1": ["c"]}


def test_private_file_is_for_the_owner_only_and_ends_with_the_block() -> None:
    with private_file("open sesame") as (path, descriptor):
        assert os.fstat(descriptor).st_mode & 0o777 == 0o600
        assert Path(path).read_text() == "open sesame"
    assert not Path(path).exists()


def test_large_private_file_is_whole() -> None:
    text = "x" * 3_000_000
    with private_file(text) as (path, _):
        assert Path(path).read_text() == text
