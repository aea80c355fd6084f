"""Properties of the queues: what any fleet and any queues that are let through come to, as Kueue's objects."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tensorplane.components.base.labels import is_label_value
from tensorplane.components.base.model import Resources
from tensorplane.components.clusters.aks import Aks
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.checks import pods as pod_checks
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.queues import capacity, checks, cohort, flavors, quota
from tensorplane.components.queues.capacity import PodSet
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.manifest import cluster_queue_spec, flavor_spec
from tensorplane.components.queues.quota import Quota
from tensorplane.components.queues.settings import ALONE, CohortArgs, QueueArgs, TeamArgs
from tensorplane.components.teams import team as teams_team
from tests.support import counts

STACK = "lab"
pytestmark = pytest.mark.counted
some = settings(max_examples=counts.of(quick=8, nightly=200))
SITES = (
    ClusterProperties("existing", None, None),
    Eks(region="us-west-2").cluster_properties,
    Aks(region="eastus2").cluster_properties,
)
SHARING = (
    None,
    {"kind": "timeSlicing", "replicas": 4},
    {"kind": "mps", "replicas": 2},
    {"kind": "mig", "profile": "1g.10gb"},
)
TAINTS = ((), ({"key": "team", "value": "vision"},), ({"key": "soft", "effect": "PreferNoSchedule"},))
# Names that could be taken for the end of a kind's.
NAMES = ("one", "two", "spot", "80gb", "mps-2", "spot-mps-2", "long" * 15)
TEAMS = {"vision": TeamArgs(), "speech": TeamArgs(namespace="talk")}
COHORTS = {"inner": CohortArgs(), "innermost": CohortArgs(parent="inner")}


@dataclass(frozen=True)
class Stack:
    """Settings that are let through, with what follows from them."""

    machines: Fleet
    kinds: dict[str, Flavor]
    queues: dict[str, QueueArgs]

    def __repr__(self) -> str:
        groups = {name: shape.args.model_dump(exclude_defaults=True) for name, shape in self.machines.groups.items()}
        queues = {name: args.model_dump(exclude_defaults=True) for name, args in self.queues.items()}
        return f"{groups} {queues}"

    @property
    def quotas(self) -> dict[str, list[Quota]]:
        return {name: quota.of(args, self.kinds) for name, args in self.queues.items()}

    def specs(self) -> Iterator[tuple[QueueArgs, list[Quota], dict[str, Any]]]:
        """Each queue with its quotas and its ClusterQueue."""
        for name, args in self.queues.items():
            found = self.quotas[name]
            yield args, found, cluster_queue_spec(args, found, STACK, [STACK])


group = st.fixed_dictionaries(
    {
        "accelerator": st.sampled_from([None, "t4", "a100-40gb", "a100-80gb", "h100-80gb"]),
        "perNode": st.sampled_from([1, 4, 8]),
        "max": st.integers(1, 4),
        "spot": st.booleans(),
        "sharing": st.sampled_from(SHARING),
        "taints": st.sampled_from(TAINTS),
    }
)


@st.composite
def fleets(draw: st.DrawFn) -> tuple[Fleet, bool]:
    """Machines without a fault, and whether the cluster has nodes of its own beside them."""
    site = draw(st.sampled_from(SITES))
    groups: dict[str, NodeGroupArgs] = {}
    if draw(st.booleans()) or site.cloud:
        groups["cpu"] = NodeGroupArgs.model_validate(
            {"min": 1, "max": 3, **({"machine": _CPU[site.kind]} if site.cloud else {})}
        )
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True)):
        given = draw(group)
        if given["accelerator"] is None:
            given = {key: value for key, value in given.items() if key in ("max", "spot", "taints")}
            given |= {"machine": _CPU[site.kind]} if site.cloud else {}
        more = {**groups, name: NodeGroupArgs.model_validate(given)}
        groups = groups if fleet.of(more, site)[1] else more
    machines, wrong = fleet.of(groups, site)
    assert not wrong
    return machines, draw(st.booleans())


_CPU = {"eks": "m7i.2xlarge", "aks": "Standard_D8s_v5"}


@st.composite
def stacks(draw: st.DrawFn) -> Stack:
    """Random queues for random machines, without whatever was a fault in them."""
    machines, own_nodes = draw(fleets())
    kinds = flavors.of(machines, own_nodes=own_nodes)
    assume(kinds)
    counts = st.fixed_dictionaries({kind: st.integers(0, 4) for kind in sorted(kinds)})
    cores = st.sampled_from([(0, 0), (0.25, 1), (3, 7.3), (8, 16)])
    tree: dict[str, dict[str, Any]] = {}
    for name in draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, unique=True)):
        cpus, memory_gib = draw(cores)
        tree[name] = {
            "priority": draw(st.sampled_from(["low", "normal", "high"])),
            "cpus": cpus,
            "memoryGib": memory_gib,
            "gpus": draw(counts),
            "mayBorrow": draw(counts),
            "lends": draw(counts),
            "cohort": draw(st.sampled_from([None, ALONE, "inner", "innermost"])),
            "weight": draw(st.sampled_from([None, 1, 2.5])),
            "teams": draw(st.lists(st.sampled_from(sorted(TEAMS)), unique=True)),
        }
    queues = _mended(tree, kinds)
    assume(queues)
    return Stack(machines, kinds, queues)


def _mended(tree: dict[str, dict[str, Any]], kinds: dict[str, Flavor]) -> dict[str, QueueArgs]:
    """The queues after their owner left out, fault by fault, what the lines are about."""
    while True:
        queues = {name: QueueArgs.model_validate(args) for name, args in tree.items()}
        fault = next(checks.find_problems(queues, COHORTS, TEAMS, kinds), None)
        if fault is None:
            return queues
        _, name, *keys = fault.path
        if not keys or keys[0] in ("cpus", "memoryGib"):
            del tree[name]
        elif len(keys) == 1:
            del tree[name][keys[0]]
        else:
            del tree[name][keys[0]][keys[1]]


@some
@given(fleets())
def test_a_node_is_of_one_kind_and_no_kind_is_without_nodes(found: tuple[Fleet, bool]) -> None:
    machines, own_nodes = found
    kinds = flavors.of(machines, own_nodes=own_nodes)
    assert len({tuple(sorted(kind.labels.items())) for kind in kinds.values()}) == len(kinds)
    met: set[str] = set()
    for shape in machines.groups.values():
        matching = [kind.name for kind in kinds.values() if kind.labels.items() <= shape.labels.items()]
        has_part = shape.flavor == "cpu" or "nvidia.com/gpu" in shape.resources
        assert matching == ([shape.flavor] if has_part else [])
        met |= set(matching)
    assert set(kinds) - met <= {"cpu" if own_nodes else "", "any"}


@some
@given(fleets())
def test_groups_of_one_kind_are_alike_to_pods(found: tuple[Fleet, bool]) -> None:
    machines, _ = found
    for one, other in itertools.combinations(machines.groups.values(), 2):
        if one.flavor == other.flavor and one.accelerator:
            assert (one.accelerator, one.args.spot, one.args.sharing) == (
                other.accelerator,
                other.args.spot,
                other.args.sharing,
            )
            assert {t for t in one.taints if t.effect != "PreferNoSchedule"} == {
                t for t in other.taints if t.effect != "PreferNoSchedule"
            }


@some
@given(fleets())
def test_names_fit(found: tuple[Fleet, bool]) -> None:
    machines, own_nodes = found
    for kind in flavors.of(machines, own_nodes=own_nodes).values():
        assert all(is_label_value(value) for value in kind.labels.values())
        assert len(kind.labels) <= 8
        assert len(kind.taints) <= 8


@some
@given(stacks())
def test_kueue_takes_every_queue(found: Stack) -> None:
    for args, _, spec in found.specs():
        (group,) = spec["resourceGroups"]
        assert 1 <= len(group["flavors"]) <= 64
        assert len({each["name"] for each in group["flavors"]}) == len(group["flavors"])
        for each in group["flavors"]:
            assert [resource["name"] for resource in each["resources"]] == group["coveredResources"]
            limits = {key for resource in each["resources"] for key in resource} - {"name", "nominalQuota"}
            assert args.cohort != ALONE or not limits
        assert ("cohortName" in spec) == (args.cohort != ALONE)


@some
@given(stacks())
def test_processors_come_first_and_cards_by_age(found: Stack) -> None:
    for args, quotas, _ in found.specs():
        ages = [each.flavor.age for each in quotas if each.flavor.is_gpu]
        assert ages == sorted(ages, reverse=args.priority == "high")
        plain = [each for each in quotas if not each.flavor.is_gpu]
        assert quotas[: len(plain)] == plain
        assert all(each.guaranteed.gpus == each.borrowable.gpus == 0 for each in plain if each.flavor.name == "cpu")


@some
@given(stacks())
def test_quotas_are_no_more_than_the_groups_hold(found: Stack) -> None:
    for kind in found.kinds.values():
        held = [each.guaranteed for quotas in found.quotas.values() for each in quotas if each.flavor == kind]
        groups = [shape for shape in found.machines.groups.values() if shape.flavor == kind.name]
        if kind.is_gpu:
            assert sum(each.gpus for each in held) <= sum(
                shape.resources["nvidia.com/gpu"] * shape.args.max for shape in groups
            )
        elif kind.cpus_max is not None and kind.memory_gib_max is not None:
            assert sum(each.cpus for each in held) <= kind.cpus_max
            assert sum(each.memory_gib for each in held) <= kind.memory_gib_max


@some
@given(stacks())
def test_every_kind_that_a_queue_lists_can_be_got(found: Stack) -> None:
    for capacities in capacity.queue_capacities(found.queues, found.quotas, found.machines, {}).values():
        for each, most in capacities.kinds:
            assert any(most.of_key(name) > 0 for name in each.flavor.quota_keys)
            for name in each.flavor.quota_keys:
                assert most.of_key(name) == (each.guaranteed + each.borrowable).of_key(name)


@some
@given(stacks())
def test_the_limit_of_a_namespace_is_what_its_queues_can_hold_and_no_more_than_there_is(found: Stack) -> None:
    for owner in (None, *TEAMS):
        sure, allowed = Counter[str](), Counter[str]()
        for args, _, spec in found.specs():
            for each in spec["resourceGroups"][0]["flavors"]:
                gpus = each["resources"][-1]
                sure[each["name"]] += int(gpus["nominalQuota"])
                if owner is None or owner in args.teams:
                    allowed[each["name"]] += int(gpus["nominalQuota"]) + int(gpus.get("borrowingLimit", 0))
        most = sum(min(allowed[name], sure[name]) for name in allowed)
        assert teams_team.gpus_at_most(found.queues, found.quotas, owner) == most
        capacities = [kind.gpus_max for kind in found.kinds.values() if kind.is_gpu]
        assert most <= sum(gpus or 0 for gpus in capacities) or "any" in found.kinds


@some
@given(fleets())
def test_pods_are_made_to_tolerate_what_their_machines_are_and_choose_the_rest(found: tuple[Fleet, bool]) -> None:
    machines, own_nodes = found
    for kind in flavors.of(machines, own_nodes=own_nodes).values():
        spec = flavor_spec(kind, STACK)
        keys = {each["key"] for each in spec.get("tolerations", ())}
        # Who needs no GPU is led there by no toleration, and who may be stopped or is of a team says so itself.
        assert keys == ({kind.resource} if kind.is_gpu else set())
        assert keys <= {each["key"] for each in spec.get("nodeTaints", ())}


@some
@given(stacks())
def test_pods_that_compute_together_take_no_turns(found: Stack) -> None:
    capacities = capacity.queue_capacities(found.queues, found.quotas, found.machines, {})
    for gpus, named, interruptible in itertools.product((1, 4), (None, *found.machines.groups), (False, True)):
        asked = Resources(gpus=gpus, node_group=named)
        if [*pod_checks.find_problems(found.machines, asked, ("at",), interruptible=interruptible, synchronous=True)]:
            continue
        pods = PodSet("worker", 2, asked, together=True, interruptible=interruptible)
        assert not [kind for each in capacities.values() for kind, _ in each.usable(pods) if kind.flavor.shared]


@some
@given(stacks(), st.sampled_from([0, 1, 4]), st.integers(1, 9), st.booleans())
def test_what_is_said_to_fit_is_within_one_kind(found: Stack, gpus: int, count: int, interruptible: bool) -> None:
    pods = PodSet("worker", count, Resources(cpus=0.1, memory_gib=0.1, gpus=gpus), False, interruptible)
    for capacities in capacity.queue_capacities(found.queues, found.quotas, found.machines, {}).values():
        at_most = max((most.gpus for _, most in capacities.usable(pods)), default=-1)
        assert not capacities.fits(pods) or gpus * count <= at_most
        assert capacities.fits(pods) == (capacities.most(pods) == count)
        assert capacities.fits(pods) or not capacities.borrows(pods)


@some
@given(stacks())
def test_what_all_others_lend_is_what_each_of_them_lends(found: Stack) -> None:
    lends = cohort.root_cohort(found.queues, found.quotas)
    for name, quotas in found.quotas.items():
        for each in quotas:
            lent = lends.lenders(name, each.flavor.name)
            assert name not in lent
            together = lends.borrowable(name, each.flavor.name)
            assert together.gpus == sum(amount.gpus for amount in lent.values())
            assert together.cpus == pytest.approx(sum(amount.cpus for amount in lent.values()))
            assert found.queues[name].cohort != ALONE or not lent
