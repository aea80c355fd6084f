"""Values before and after: what differs is on the line, also within long texts and texts of JSON."""

from __future__ import annotations

import json
from typing import Any

from tensorplane.cli.commands.preview import properties, property_path
from tensorplane.cli.commands.preview.report import Property
from tests.hosts.preview_events import SECRET, detailed


def _changed(old: Any, new: Any, token: str = "kubernetes:core/v1:ConfigMap") -> list[Property]:
    states = {"old": {"inputs": {"data": old}}, "new": {"inputs": {"data": new}}}
    return list(properties.of({"op": "update", "type": token, **states, "detailedDiff": detailed(data="update")}))


def test_long_texts_show_the_part_that_differs() -> None:
    (found,) = _changed("x" * 100 + "old" + "y" * 100, "x" * 100 + "newer" + "y" * 100)
    assert found.old == f"…{'x' * 20}old{'y' * 20}…"
    assert found.new == f"…{'x' * 20}newer{'y' * 20}…"


def test_texts_that_differ_early_or_are_short_are_shown_from_their_start() -> None:
    assert property_path.texts("a" * 10, "a" * 12) == ('"aaaaaaaaaa"', '"aaaaaaaaaaaa"')
    before, after = property_path.texts("a" * 100, "b" * 100)
    assert (before[:3], after[:3], len(before)) == ('"aa', '"bb', 60)


def test_a_text_that_ends_earlier_shows_where() -> None:
    before, after = property_path.texts("x" * 100, "x" * 100 + " and more")
    assert before != after
    assert "and more" in after


def test_texts_of_json_show_each_difference_with_its_path() -> None:
    old = {"gates": [{"threshold": 0.01}], "digest": "a"}
    found = _changed(json.dumps(old), json.dumps({**old, "gates": [{"threshold": 0.05}]}))
    assert found == [Property("data.gates[0].threshold", "0.01", "0.05", False)]


def test_many_differences_within_a_text_are_one_line() -> None:
    (found,) = _changed(json.dumps(dict.fromkeys("abcdefgh", 1)), json.dumps(dict.fromkeys("abcdefgh", 2)))
    assert found.path == "data"


def test_no_part_of_a_secret_is_shown() -> None:
    (found,) = _changed('{"a": "s3cret"}', '{"a": "0ther"}', "kubernetes:core/v1:Secret")
    assert (found.old, found.new) == ("[secret]", "[secret]")
    (found,) = _changed(SECRET, '{"a": "plain"}')
    assert found.old == '"[secret]"'


def _of_pods(old: Any, new: Any, *paths: str) -> list[tuple[str, str, str]]:
    states = {"old": {"inputs": {"spec": old}}, "new": {"inputs": {"spec": new}}}
    diff = detailed(**dict.fromkeys(paths, "update-replace"))
    step = {"op": "replace", "type": "kubernetes:apps/v1:Deployment", **states, "detailedDiff": diff}
    return [(each.path, each.old, each.new) for each in properties.of(step) if each.replaces]


def test_items_with_names_are_compared_by_name_and_not_by_place() -> None:
    mounts = [{"name": "a", "mountPath": "/models"}, {"name": "b", "mountPath": "/scratch"}]
    moved = [mounts[1], {"name": "c", "mountPath": "/models"}]
    paths = [f"spec.mounts[{index}].{key}" for index in (0, 1) for key in ("name", "mountPath")]
    assert _of_pods({"mounts": mounts}, {"mounts": moved}, *paths) == [('spec.mounts["/models"].name', '"a"', '"c"')]


def test_items_without_names_are_compared_by_place() -> None:
    assert _of_pods({"args": ["a"]}, {"args": ["b"]}, "spec.args[0]") == [("spec.args[0]", '"a"', '"b"')]
    named, unnamed = {"all": [{"name": "a"}]}, {"all": [{"key": "a"}]}
    assert _of_pods(named, unnamed, "spec.all[0].name")[0][0] == "spec.all[0].name"


def test_an_item_that_comes_is_one_line() -> None:
    added = {"env": [{"name": "A", "value": "1"}]}
    ((path, old, new),) = _of_pods({"env": []}, added, "spec.env[0]")
    assert (path, old, new) == ('spec.env["A"]', "", '{"name": "A", "value": "1"}')


def test_what_a_queue_knows_of_its_cluster_is_not_called_its_own() -> None:
    inputs = ({"gpus": 1, "machines": [{"name": "t4", "gpus": True, "max": most}]} for most in (32, 64))
    states = dict(zip(("old", "new"), ({"inputs": each} for each in inputs), strict=True))
    (found,) = properties.of({"op": "update", "type": "tensorplane:index:Queue", **states})
    assert (found.path, found.old, found.new) == ("clusterCapacity.t4", "32", "64")


def test_values_that_are_cut_alike_differ_in_full_and_a_secret_in_neither() -> None:
    long = "x" * 90
    (one,), (other,) = (_changed("old", f"{long}{number}") for number in (1, 2))
    assert (one.new, one.old) == (other.new, other.old)
    assert one.values == ('"old"', f'"{long}1"')
    assert one.full_values != other.full_values
    (huge,) = _changed("old", "y" * 50_000)
    assert len(huge.full_values) < 100
    assert huge.values == (huge.old, huge.new)
    (hidden,) = _changed(SECRET, long)
    assert "[secret]" in hidden.full_values
