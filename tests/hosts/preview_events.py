"""Events of one preview as CLI 3.246.0 streams them: every kind that the report knows, cut to what it reads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tensorplane.plugins.cloud_models.coverage import Coverage

Event = dict[str, Any]

STACK = "urn:pulumi:dev::tensorplane::"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def step(operation: str, token: str, name: str, old: Any = None, new: Any = None, **more: Any) -> Event:
    """What the engine says before it would touch a resource."""
    states = {
        "old": None if old is None else {"inputs": old},
        "new": None if new is None else {"inputs": new},
    }
    metadata = {"op": operation, "urn": f"{STACK}{token}::{name}", "type": token, "detailedDiff": None}
    return {"resourcePreEvent": {"metadata": {**metadata, **states, **more}, "planning": True}}


def diagnostic(severity: str, message: str) -> Event:
    return {"diagnosticEvent": {"prefix": f"{severity}: ", "message": message, "severity": severity}}


def detailed(**kinds: str) -> dict[str, Any]:
    return {path.replace("__", "."): {"diffKind": kind, "inputDiff": True} for path, kind in kinds.items()}


_PACK = {"policyPackName": "tensorplane", "policyPackVersion": "0.1.0"}
_DEPLOYMENT = {"replicas": 1, "image": "server:1", "paused": True}

CHANGES: list[Event] = [
    diagnostic("warning", "using pulumi-language-python from $PATH at .venv/bin/pulumi-language-python\n"),
    diagnostic("debug", "registering resource\n"),
    step("same", "pulumi:pulumi:Stack", "tensorplane-dev", {}, {}),
    step("same", "tensorplane:index:Namespace", "main", {}, {}),
    step("create", "tensorplane:index:ModelServer", "server", None, {"gpus": 2}),
    step(
        "update",
        "tensorplane:index:TrainingJob",
        "digits",
        {"gpus": 1, "env": [{"name": "A"}], "token": SECRET, "labels": {"app.kubernetes.io/name": "x|y"}},
        {"gpus": 2, "env": [{"name": "B"}, {"name": "C"}], "token": SECRET, "labels": {}},
    ),
    step(
        "update",
        "kubernetes:apps/v1:Deployment",
        "server",
        {"spec": _DEPLOYMENT},
        {"spec": {"replicas": 3, "image": UNKNOWN_TEXT, "password": SECRET}},
        detailedDiff=detailed(
            spec__replicas="update", spec__image="update", spec__paused="delete", spec__password="add"
        ),
    ),
    step(
        "update",
        "kubernetes:core/v1:Secret",
        "token",
        {"stringData": {"token": "plain old"}},
        {"stringData": {"token": "plain new"}},
        detailedDiff=detailed(stringData__token="update"),
    ),
    step("create-replacement", "kubernetes:batch/v1:Job", "once", {"a": 1}, {"a": 2}),
    step(
        "replace",
        "kubernetes:batch/v1:Job",
        "once",
        {"spec": {"template": "old"}},
        {"spec": {"template": "new"}},
        detailedDiff=detailed(spec__template="update-replace"),
    ),
    step("delete-replaced", "kubernetes:batch/v1:Job", "once", {"a": 1}),
    step("delete", "kubernetes:core/v1:ConfigMap", "old", {"data": {}}),
]
_VALUES = Coverage("aws:eks/nodeGroup:NodeGroup", "botocore 1.2.3", frozenset({"amiType"}), frozenset({"version"}))
CLOUD: list[Event] = [
    diagnostic("info", replace(_VALUES, absent=frozenset({"forceUpdateVersion"})).message()),
    diagnostic("info", replace(_VALUES, limited=frozenset({"capacityType"})).message()),
    diagnostic("info", Coverage("gcp:kms/keyRing:KeyRing", "", absent=frozenset({"location"})).message()),
    step("create", "aws:eks/cluster:Cluster", "cluster", None, {"version": "1.35"}),
    diagnostic("error", "aws:eks/addon:Addon resource 'dns' has a problem: addonName: missing; Addon requires it\n"),
]
KEPT: list[Event] = [{"policyAnalyzeStackSummaryEvent": {**_PACK, "passed": ["gpu-quota"]}}]
VIOLATED: list[Event] = [
    {
        "policyEvent": {
            **_PACK,
            "policyName": "gpu-quota",
            "enforcementLevel": "mandatory",
            "message": "The GPUs that a stack's workloads request stay within the stack's quota.\n"
            "The workloads request 4 GPUs; the quota is 0.\n",
        }
    },
    {"policyAnalyzeStackSummaryEvent": {**_PACK, "failed": ["gpu-quota"]}},
    diagnostic("error", "preview failed\n"),
]
FAULTS: list[Event] = [
    diagnostic(
        "error", "tensorplane:queues.research.gpus.t44: unknown accelerator (did you mean t4?)\nvolumes.b: no backend\n"
    )
]


def group(card: str, machine: str | None, nodes: tuple[int, int], **more: Any) -> dict[str, Any]:
    """What a node group registers."""
    labels = {"tensorplane.dev/accelerator": card, "nvidia.com/device-plugin.config": more.pop("shared", None)}
    facts: dict[str, Any] = {
        "accelerator": card,
        "machine": machine,
        "minNodes": nodes[0],
        "maxNodes": nodes[1],
        "spot": False,
        "gpusMax": 0,
        "tpusMax": 0,
        "taints": [],
        "labels": {key: value for key, value in labels.items() if value},
    }
    return {**facts, **more}


_GPU = "nvidia.com/gpu=present:NoSchedule"
_T4 = group("t4", "g4dn.xlarge", (0, 20), gpusMax=20, taints=[_GPU, "a=b:NoExecute"], shared="time-slicing-4")
_L4 = group("l4", "g6.xlarge", (0, 20), gpusMax=20, taints=[_GPU, "a=c:NoExecute"], hourlyUsdMax=16.096)
_TPU = group(
    "tpu-v5e", "ct5lp-hightpu-4t", (1, 1), tpusMax=4, hourlyUsdMax=4.8, taints=["google.com/tpu=present:NoSchedule"]
)
_CPU = group("none", None, (2, 1000), hourlyUsdMax=1234.5)
_SPOT = {**_CPU, "spot": True, "taints": ["tensorplane.dev/spot=true:NoSchedule"]}

FLEET: list[Event] = [
    step("create", "tensorplane:index:NodeGroup", "tpu", None, _TPU),
    step("update", "tensorplane:index:NodeGroup", "old", _T4, _L4),
    step("same", "tensorplane:index:NodeGroup", "cpu", _CPU, _CPU),
    step("update", "tensorplane:index:NodeGroup", "more", _CPU, _SPOT | {"hourlyUsdMax": None}),
    step("delete", "tensorplane:index:NodeGroup", "gone", _T4),
]


def queue(priority: str, kinds: dict[str, tuple[float, float, float]], *teams: str) -> dict[str, Any]:
    """What a queue registers; of each kind of machine what it is sure of, may borrow and lends."""
    keys = ("guaranteed", "borrowable", "lends")
    return {
        "priority": priority,
        "cohort": "",
        "gpus": 0,
        "teams": list(teams),
        "kinds": [{"name": name, **dict(zip(keys, counts, strict=True))} for name, counts in kinds.items()],
        "machines": [{"name": name, "gpus": True, "max": most} for name, most in (("t4", 8), ("h100-80gb", 8))],
    }


_LOW = queue("low", {"t4": (4, 0, 4)}, "vision")
_MORE = queue("low", {"t4": (8, 0, 8), "h100-80gb": (0, 4, 0)}, "vision", "speech")
_HIGH = queue("high", {"h100-80gb": (8, 0, 4)})
_STAKE = {"borrowed": ["h100-80gb"], "saveSeconds": 20, "graceSeconds": 60, "steps": 200, "pods": 2, "gpus": 4}

QUEUES: list[Event] = [
    step("update", "tensorplane:index:Queue", "research", _LOW, _MORE),
    step("create", "tensorplane:index:Queue", "production", None, _HIGH),
    step("delete", "tensorplane:index:Queue", "former", _LOW),
    step("create", "tensorplane:index:TrainingJob", "search", None, {"queue": "research", "mayBeStopped": _STAKE}),
    step("create", "tensorplane:index:TrainingJob", "calm", None, {"queue": "production"}),
]


def cost(missing: str = "", date: str = "", **figures: tuple[float, float] | None) -> dict[str, Any]:
    """The estimate that a component registers."""
    made = {name: list(bounds) if bounds else None for name, bounds in figures.items()}
    return {"cost": {"figures": made, "missing": missing, "date": date}}


_NO_SPOT = "the catalog has no spot price of p5.48xlarge in us-west-2"
_UNKNOWN = cost(_NO_SPOT, min=None, expected=None, max=None, month=None)
_LESS = cost(date="2026-01-21", min=(0, 0), expected=(55.04, 55.04), max=(220.16, 220.16), month=(40179.2, 40179.2))
_TWICE = cost(date="2026-01-21", min=(0, 0), expected=(110.08, 110.08), max=(440.32, 440.32), month=(80358.4, 80358.4))

COST: list[Event] = [
    step("update", "tensorplane:index:NodeGroup", "new", _L4 | _LESS, _L4 | _TWICE),
    step("create", "tensorplane:index:NodeGroup", "rare", None, _SPOT | {"hourlyUsdMax": None} | _UNKNOWN),
    # An earlier version deployed it.
    step("same", "tensorplane:index:NodeGroup", "cpu", _CPU, _CPU),
    step(
        "update", "tensorplane:index:Queue", "research", _LOW, _MORE | cost(owned=(1.2, 1.5), borrowed=(110.08, 110.08))
    ),
    step("create", "tensorplane:index:TrainingJob", "search", None, {"queue": "research"} | cost(hour=(27.52, 30))),
    step("delete", "tensorplane:index:TrainingJob", "calm", {"queue": "research"} | cost(hour=(2, 2))),
]
