"""Finds requests of accelerators anywhere in a manifest: in pods, and in fields from which operators create pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpu_usage import accelerators, devices, fractions, operator_fields, pods, shown, text
from gpu_usage.declared import NOTHING, Declared
from gpu_usage.manifest import UNKNOWN, Path, UncountableError, unknown, whole_number

# Fields of Kubernetes' own kinds with pods, and with devices.
_HOLDERS = re.compile(r"(spec|template|jobTemplate|replicatedJobs|tasks|items|resources|metadata|annotations)(\[\])?")
# Elements of these lists and their `resources`, which are counted with their pod.
_CONTAINERS = ("containers[]", "initContainers[]")
_OF_POD = "resources of a pod"
# Fields of custom resources that may be unknown: names and addresses contain no pods.
_SCALAR = re.compile(
    r".*(names?|ids?|arns?|hosts?|hostnames?|urls?|uris?|endpoints?|address(es)?|ips?|ports?|keys?|secrets?|tokens?"
    r"|passwords?|roles?|regions?|zones?|image|tags?|versions?|namespaces?|domains?|cidrs?|paths?|buckets?|accounts?"
    r"|projects?|networks?|subnets?|securitygroups?|bootstrapservers|class|handle|bundle|fingerprint|uid|email|size"
    r"|capacity|storage|queue|labels|subjects?)(\[\])?",
    re.IGNORECASE,
)
# Maps of strings, in which a number for an accelerator's name is a label's value.
_WORDS = frozenset({"annotations", "labels", "matchLabels", "nodeLabels", "nodeSelector", "podAnnotations"})
# Maps that say how much there is or may be, of queues, quotas, nodes and thresholds.
_BOUNDS = frozenset(
    {
        *("hard", "quota", "capability", "deserved", "guarantee", "guaranteed", "capacity", "allocatable"),
        *("thresholds", "targetThresholds", "usageThresholds"),
    }
)
_NO_REQUESTS = _WORDS | _BOUNDS
_ANNOTATIONS = ("annotations", "podAnnotations")
# In a text that is no Kubernetes object, such as a scheduler's configuration, other maps weigh and limit accelerators.
_REQUESTS = re.compile(r"(extra_?)?resources?(_?(limits|guarantees|requests))?|overhead", re.IGNORECASE)


@dataclass(frozen=True)
class Demand:
    """Accelerators that one field of a manifest requests, and every map that contains it."""

    gpus: int
    trail: tuple[Mapping[str, Any], ...]
    path: Path


@dataclass
class Search:
    """One pass through a manifest. `custom`: an operator may create pods from any field or text."""

    custom: bool = True
    declared: Declared = NOTHING
    own_fields: bool = False
    """Whether fields without a vendor's prefix count, as one each: their operator is not known here."""
    is_text: bool = False
    """Whether it reads a text, which may configure something: only `resources` in it request accelerators."""
    _visited: set[int] = field(default_factory=set)

    def demands(
        self, value: Any, path: Path = (), trail: tuple[Mapping[str, Any], ...] = (), inside: str = ""
    ) -> Iterator[Demand]:
        """All requests of accelerators. Raises UncountableError if they are unknown."""
        if value is UNKNOWN:
            if not _SCALAR.fullmatch(inside) if self.custom else _HOLDERS.fullmatch(inside):
                raise unknown(path)
        elif isinstance(value, str):
            if self.custom and (gpus := _in_text(value, path)):
                yield Demand(gpus, trail, path)
        elif isinstance(value, dict | list):
            if id(value) in self._visited:  # an alias in a text, which may refer to itself
                return
            self._visited.add(id(value))
            if isinstance(value, dict):
                yield from self._in_map(value, path, (*trail, value), inside)
            else:
                for index, each in enumerate(value):
                    yield from self.demands(each, (*path, str(index)), trail, f"{inside}[]")

    def _in_map(
        self, value: Mapping[str, Any], path: Path, trail: tuple[Mapping[str, Any], ...], inside: str
    ) -> Iterator[Demand]:
        yield Demand(self._own(value, path, inside), trail, path)
        if pods.is_pod(value):
            yield Demand(pods.count(value, path, self.declared), trail, path)
        devices.refuse(value, path, self.declared.network_claims)
        for key, inner in value.items():
            if path or key not in ("metadata", "status"):
                is_counted = inside in _CONTAINERS and key == "resources"
                yield from self.demands(inner, (*path, key), trail, _OF_POD if is_counted else key)

    def _own(self, value: Mapping[str, Any], path: Path, inside: str) -> int:
        """Requests of a map itself, without pods and maps inside it."""
        shown.refuse(value, path)
        if self.own_fields and inside not in _NO_REQUESTS and operator_fields.asks(value, path):
            return 1
        if inside in ("limits", "requests"):  # counted with the map that holds both
            return 0
        gpus = 0 if inside == _OF_POD else accelerators.requested(value, path)
        if "deviceName" in value and accelerators.is_device(value["deviceName"]):
            gpus += 1
        if "quantity" in value and accelerators.is_device(value.get("name")):
            gpus += whole_number(value["quantity"], (*path, "quantity"))
        if inside in _ANNOTATIONS:
            gpus += fractions.requested(value, path)
        return gpus + self._by_name(value, path, inside)

    def _by_name(self, value: Mapping[str, Any], path: Path, inside: str) -> int:
        """Requests by keys that are names of accelerators."""
        if inside in _NO_REQUESTS or (self.is_text and not _REQUESTS.fullmatch(inside)):
            return 0
        asks = accelerators.is_asked if inside == "overhead" else accelerators.is_named
        return sum(_quantity(value[key], (*path, key)) for key in value if asks(key))


def _quantity(value: Any, path: Path) -> int:
    is_word = isinstance(value, bool) or (isinstance(value, str) and "{{" not in value and not value.isdecimal())
    return 0 if is_word or isinstance(value, dict | list) else whole_number(value, path)


def _in_text(value: str, path: Path) -> int:
    if path[-1:] == ("podSpecPatch",) and "{{" in value:
        problem = f"`{'.'.join(path)}` is filled in while the workflow runs"
        raise UncountableError(problem, "write the pods' resources without parameters, in their containers")
    return in_text(value, path)


def in_text(value: str, path: Path) -> int:
    """Accelerators of the manifests in a text. For invalid YAML, 1 if it names any."""
    if not text.may_have_gpus(value):
        return 0
    documents = text.parse(value)
    if documents is None:
        return int(accelerators.named_in(value))
    search = Search(is_text=True)
    found = sum(each.gpus for document in documents for each in search.demands(document, path))
    return found or int(accelerators.named_in(value) and not documents)
