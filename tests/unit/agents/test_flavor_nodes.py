"""Which flavors take no part because none of their nodes takes pods, and what Kueue hears of it."""

from __future__ import annotations

import io
import urllib.error
from email.message import Message
from typing import Any
from urllib.parse import parse_qs

import pytest

from tensorplane.agents.api import ApiServer
from tensorplane.agents.lost_nodes import cluster as lost
from tensorplane.agents.lost_nodes import leaving
from tensorplane.agents.quota_return.flavors import KUEUE, TAINT, reconcile

Object = dict[str, Any]
A100, T4 = "lab-a100-80gb-near", "lab-t4-near"
COHORT = "lab.without-nodes"
GPUS = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
OUT = {"key": TAINT, "effect": "NoSchedule"}


def node(flavor: str, *, ready: bool = True, cordoned: bool = False, taint: str = "nvidia.com/gpu") -> Object:
    conditions = [{"type": "Ready", "status": str(ready)}]
    labels = {"tensorplane.dev/flavor": flavor}
    spec = {"unschedulable": cordoned, "taints": [{"key": taint, "effect": "NoSchedule"}]}
    return {"metadata": {"labels": labels}, "spec": spec, "status": {"conditions": conditions}}


class FakeServer(ApiServer):
    """Two flavors, their nodes and the cohort, which change as they are told to."""

    def __init__(self, *nodes: Object) -> None:
        super().__init__()
        self.__dict__.update(nodes=nodes, patched=[], refuses=(), pages=[])
        self.__dict__["flavors"] = {
            name: {
                "metadata": {"name": name, "resourceVersion": "7"},
                "spec": {"nodeLabels": {"tensorplane.dev/flavor": name}, "nodeTaints": [GPUS]},
            }
            for name in (A100, T4)
        }
        self.__dict__["cohort"] = {"metadata": {"resourceVersion": "7"}, "spec": {"parentName": "lab"}}

    nodes: tuple[Object, ...]
    flavors: dict[str, Object]
    cohort: Object
    patched: list[str]
    refuses: tuple[str, ...]
    pages: list[int]

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        path, _, query = path.partition("?")
        if path == "api/v1/nodes":
            return self._nodes(parse_qs(query))
        kind, name = path.removeprefix(f"{KUEUE}/").split("/")
        found = self.cohort if kind == "cohorts" else self.flavors[name]
        if method == "PATCH":
            if name in self.refuses:
                raise urllib.error.HTTPError(path, 409, "no", Message(), io.BytesIO())
            assert body["metadata"] == {"resourceVersion": "7"}, "refused if somebody has changed it since"
            self.patched.append(name)
            found["spec"] |= body["spec"]
        return found

    def _nodes(self, query: dict[str, list[str]]) -> Object:
        assert query["fieldSelector"] == ["spec.unschedulable=false"]
        key, _, value = query["labelSelector"][0].partition("=")
        found = [each for each in self.nodes if each["metadata"]["labels"][key] == value]
        found = [each for each in found if not each["spec"]["unschedulable"]]
        start, limit = int(query.get("continue", ["0"])[0]), int(query["limit"][0])
        more = {"continue": str(start + limit)} if start + limit < len(found) else {}
        self.pages.append(len(found[start : start + limit]))
        return {"metadata": more, "items": found[start : start + limit]}

    def reconcile(self) -> list[str]:
        """The objects that one look changes."""
        self.patched.clear()
        reconcile(self, [A100, T4], COHORT)
        return [*self.patched]

    @property
    def listed(self) -> list[str]:
        """The flavors of the cohort."""
        groups = self.cohort["spec"].get("resourceGroups", ())
        return [flavor["name"] for group in groups for flavor in group["flavors"]]


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [node(A100, cordoned=True)],
        [node(A100, ready=False), node(A100, cordoned=True)],
        [node(A100, taint=lost.TAINT)],
        [node(A100, taint=leaving.TAINT)],
    ],
    ids=["none", "cordoned", "not Ready", "lost", "leaving"],
)
def test_a_flavor_takes_no_part_until_one_of_its_nodes_takes_pods(nodes: list[Object]) -> None:
    server = FakeServer(*nodes, node(T4))
    # The flavor first: Kueue tries waiting jobs again when the cohort changes.
    assert server.reconcile() == [A100, COHORT]
    assert server.flavors[A100]["spec"]["nodeTaints"] == [GPUS, OUT]
    assert server.flavors[T4]["spec"]["nodeTaints"] == [GPUS]
    assert server.listed == [A100]
    quotas = server.cohort["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    assert [each["nominalQuota"] for each in quotas] == ["0"]
    assert server.reconcile() == []
    server.__dict__["nodes"] = (*nodes, node(A100), node(T4))
    assert server.reconcile() == [A100, COHORT]
    assert server.flavors[A100]["spec"]["nodeTaints"] == [GPUS]
    assert server.listed == []
    assert server.reconcile() == []


def test_a_node_that_is_cordoned_beside_others_changes_nothing() -> None:
    server = FakeServer(node(A100, cordoned=True), node(A100), node(T4))
    assert server.reconcile() == []


def test_large_fleets_are_read_until_a_node_is_found() -> None:
    server = FakeServer(*[node(T4, ready=False)] * 45, node(T4), *[node(A100)] * 500)
    assert server.reconcile() == []
    assert server.pages == [20, 20, 20, 6]


def test_a_flavor_that_somebody_else_changes_meanwhile_is_left_to_the_next_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = FakeServer(node(T4, cordoned=True))
    server.__dict__["refuses"] = (A100,)
    assert server.reconcile() == [T4, COHORT]
    assert server.listed == [T4]
    assert capsys.readouterr().err == f"{A100}: HTTP Error 409: no\n"
    server.__dict__["refuses"] = ()
    assert server.reconcile() == [A100, COHORT]
    assert server.listed == [A100, T4]


def test_a_look_that_ended_before_the_cohort_is_completed_by_the_next() -> None:
    server = FakeServer(node(T4))
    server.__dict__["refuses"] = (COHORT,)
    with pytest.raises(OSError, match="409"):
        server.reconcile()
    server.__dict__["refuses"] = ()
    assert server.reconcile() == [COHORT]
